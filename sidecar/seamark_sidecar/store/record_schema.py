"""The tables of the record; each migration is run once, in order."""

MIGRATIONS = (
    """
    CREATE TABLE projects (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        create_time REAL NOT NULL
    );
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        project_id TEXT NOT NULL REFERENCES projects (id),
        root TEXT NOT NULL,
        type TEXT NOT NULL,
        role TEXT NOT NULL,
        task TEXT NOT NULL,
        capability_hash BLOB NOT NULL,
        state TEXT NOT NULL,
        start_time REAL NOT NULL,
        end_time REAL,
        outcome TEXT,
        taught INTEGER NOT NULL DEFAULT 0,
        summary BLOB
    );
    CREATE INDEX sessions_by_state ON sessions (state);
    CREATE INDEX sessions_by_project ON sessions (project_id, taught);
    CREATE TABLE memories (
        id TEXT PRIMARY KEY,
        project_id TEXT NOT NULL REFERENCES projects (id),
        type TEXT NOT NULL,
        content TEXT NOT NULL,
        confidence REAL NOT NULL,
        source TEXT NOT NULL,
        signal TEXT NOT NULL,
        files TEXT NOT NULL,
        tags TEXT NOT NULL,
        sessions TEXT NOT NULL,
        create_time REAL NOT NULL,
        access_time REAL NOT NULL,
        access_count INTEGER NOT NULL,
        pinned INTEGER NOT NULL,
        needs_review INTEGER NOT NULL,
        seq INTEGER NOT NULL UNIQUE
    );
    CREATE INDEX memories_by_project ON memories (project_id);
    CREATE TABLE changes (last_seq INTEGER NOT NULL);
    INSERT INTO changes VALUES (0);
    CREATE TABLE vectors (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        pooling TEXT NOT NULL,
        text_hash TEXT NOT NULL,
        half_floats BLOB NOT NULL,
        PRIMARY KEY (memory_id, model)
    ) WITHOUT ROWID;
    CREATE TABLE sightings (
        project_id TEXT NOT NULL,
        key TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (project_id, key, session_id)
    ) WITHOUT ROWID;
    CREATE TABLE file_accesses (
        project_id TEXT NOT NULL,
        path TEXT NOT NULL,
        session_id TEXT NOT NULL,
        reads INTEGER NOT NULL,
        edits INTEGER NOT NULL,
        PRIMARY KEY (project_id, path, session_id)
    ) WITHOUT ROWID;
    CREATE TABLE verdicts (
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        signal TEXT NOT NULL,
        source TEXT NOT NULL,
        type TEXT NOT NULL,
        content TEXT NOT NULL,
        key TEXT NOT NULL,
        fate TEXT NOT NULL,
        reason TEXT NOT NULL,
        release TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        PRIMARY KEY (session_id, position)
    ) WITHOUT ROWID;
    CREATE INDEX verdicts_by_key ON verdicts (key);
    CREATE TABLE injections (
        position INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        point TEXT NOT NULL,
        step INTEGER NOT NULL,
        label TEXT NOT NULL,
        reason TEXT NOT NULL,
        time REAL NOT NULL,
        UNIQUE (session_id, memory_id, point)
    );
    """,
    """
    ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT 'live';
    ALTER TABLE sessions ADD COLUMN vouched INTEGER NOT NULL DEFAULT 0;
    """,
    """
    ALTER TABLE sessions ADD COLUMN work_group TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN methodology TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN stage TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN phase TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN work_unit TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE sessions ADD COLUMN planned_steps INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN validated INTEGER;
    ALTER TABLE sessions ADD COLUMN marks_until INTEGER NOT NULL DEFAULT 0;
    -- Of what it took in from outside; empty: nothing.
    ALTER TABLE sessions ADD COLUMN contaminated_by TEXT NOT NULL DEFAULT '';
    CREATE INDEX sessions_by_group ON sessions (project_id, work_group) WHERE work_group != '';
    CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id != '';
    ALTER TABLE memories ADD COLUMN contaminated_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE verdicts ADD COLUMN contaminated_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE projects ADD COLUMN marks_point INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE outside_spans (
        project_id TEXT NOT NULL,
        fingerprint INTEGER NOT NULL,
        point INTEGER NOT NULL,
        PRIMARY KEY (project_id, fingerprint)
    ) WITHOUT ROWID;
    CREATE INDEX outside_spans_by_age ON outside_spans (project_id, point);
    CREATE TABLE outside_files (
        project_id TEXT NOT NULL,
        path TEXT NOT NULL,
        point INTEGER NOT NULL,
        PRIMARY KEY (project_id, path)
    ) WITHOUT ROWID;
    CREATE INDEX outside_files_by_age ON outside_files (project_id, point);
    """,
)
