"""The marks of contaminated text as rows of the record."""

from __future__ import annotations

import sqlite3

from seamark_sidecar.model.marks import EarlierMarks, Marks

# A project keeps this many of each, the latest.
MOST_SPANS = 65_536
MOST_FILES = 10_000


def put_marks(connection: sqlite3.Connection, project_id: str, marks: Marks) -> None:
    """Adds what a session left behind; the oldest of the project make room."""
    connection.executemany(
        "DELETE FROM outside_files WHERE project_id = ? AND path = ?",
        [(project_id, path) for path in marks.cleaned],
    )
    if not marks.spans and not marks.files:
        return
    (point,) = connection.execute(
        "UPDATE projects SET marks_point = marks_point + 1 WHERE id = ? RETURNING marks_point",
        (project_id,),
    ).fetchone() or (1,)
    # One that was there before keeps its place in the history of what is known.
    connection.executemany(
        "INSERT OR IGNORE INTO outside_spans VALUES (?, ?, ?)",
        [(project_id, each, point) for each in marks.spans],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO outside_files VALUES (?, ?, ?)",
        [(project_id, path, point) for path in marks.files],
    )
    _drop_oldest(connection, project_id, "outside_spans", "fingerprint", MOST_SPANS)
    _drop_oldest(connection, project_id, "outside_files", "path", MOST_FILES)


def marks_of(connection: sqlite3.Connection, project_id: str) -> EarlierMarks:
    """All that the project has, as of now."""
    row = connection.execute(
        "SELECT marks_point FROM projects WHERE id = ?", (project_id,)
    ).fetchone()
    spans = connection.execute(
        "SELECT fingerprint, point FROM outside_spans WHERE project_id = ?", (project_id,)
    )
    files = connection.execute(
        "SELECT path, point FROM outside_files WHERE project_id = ?", (project_id,)
    )
    return EarlierMarks(row[0] if row else 0, dict(spans), dict(files))


def _drop_oldest(
    connection: sqlite3.Connection, project_id: str, table: str, key: str, most: int
) -> None:
    connection.execute(
        f"DELETE FROM {table} WHERE project_id = ? AND {key} IN ("
        f"SELECT {key} FROM {table} WHERE project_id = ? ORDER BY point DESC, {key} "
        "LIMIT -1 OFFSET ?)",
        (project_id, project_id, most),
    )
