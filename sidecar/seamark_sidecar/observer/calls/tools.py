"""What a tool call means, whatever the framework calls its tools."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.observer.calls import arguments as args
from seamark_sidecar.observer.calls.arguments import Arguments, read_arguments
from seamark_sidecar.observer.calls.commands import Meaning, meaning_of, script_effects
from seamark_sidecar.observer.calls.parts import is_local, is_path
from seamark_sidecar.observer.calls.patches import read_patch
from seamark_sidecar.observer.calls.paths import is_dependency
from seamark_sidecar.observer.calls.scripts import changed_files
from seamark_sidecar.observer.calls.tool_rows import (
    KEEPS_DIRECTORY,
    NO_ROWS,
    ROWS,
    Form,
    Row,
    UserRows,
    tool_key,
)
from seamark_sidecar.observer.calls.use import CHANGES, Action, Origin, Shows, ToolUse, Touch
from seamark_sidecar.observer.calls.workplace import Workplace

LONGEST_COMMAND = 2000
LONGEST_WRITTEN = 2000
LONGEST_REPLACED = 2_000
LONGEST_REFERENCE = 500
MOST_PATHS = 100

_OTHER = Row(Action.OTHER)
_LAST_PIECE = re.compile(r"[./:]([^./:]{1,80})$")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ADDRESS = re.compile(r"https?://[^\s'\"<>)]{1,500}")
# What a tool's name must say, and its arguments hold, for a tool that no table knows.
_VERBS: Mapping[str, Row] = MappingProxyType({
    **dict.fromkeys(("read", "view", "cat", "show", "open"), Row(Action.READ)),
    **dict.fromkeys(("write", "create", "save"), Row(Action.WRITE)),
    **dict.fromkeys(("edit", "replace", "modify", "update", "insert"), Row(Action.EDIT)),
    **dict.fromkeys(("grep", "search"), Row(Action.SEARCH_TEXT)),
    **dict.fromkeys(("glob", "list", "find"), Row(Action.SEARCH_FILES)),
    **dict.fromkeys(("bash", "shell", "terminal", "exec", "execute"), Row(Action.RUN, Form.SHELL)),
})  # fmt: skip
_FILE_KEYS = ("path", "file_path", "filename", "target_file", "absolute_path", "file")
_TEXT_KEYS = ("content", "contents", "file_text", "text", "code_content")


def understand(
    call_id: str,
    tool: str,
    arguments_json: str,
    root: str,
    *,
    rows: UserRows = NO_ROWS,
    workplace: Workplace | None = None,
) -> ToolUse:
    """The call in our terms; one that means nothing to us is `other`.

    The workplace is what earlier calls of the session have shown, and learns from this one.
    """
    place = workplace if workplace is not None else Workplace.at(root)
    arguments = read_arguments(arguments_json)
    server, name = _server(tool)
    row = _row(name, arguments, rows)
    call = _Call(call_id, tool, tool_key(name), row, arguments, place, rows)
    found = _READERS[row.form](call)
    origin = found.origin or row.origin
    if found.action is Action.WEB and found.origin is None and is_local(found.reference):
        origin = None
    if server and server not in rows.trusted_servers:
        origin = Origin.UNTRUSTED_SERVER
    use = found.as_use(call, origin)
    place.know(use.mentioned)
    return use


@dataclass(slots=True)
class _Call:
    """A call on its way to being understood."""

    call_id: str
    tool: str
    # As the table spells it.
    key: str
    row: Row
    arguments: Arguments
    place: Workplace
    rows: UserRows


@dataclass(slots=True, kw_only=True)
class _Found:
    """What a reader found; paths are the project's."""

    action: Action
    touches: Sequence[Touch] = ()
    outside: Sequence[str] = ()
    patterns: tuple[str, ...] = ()
    places: Sequence[str] = ()
    command: str = ""
    runner: str = ""
    reference: str = ""
    origin: Origin | None = None
    written: str = ""
    named: Sequence[str] = ()
    gone: Sequence[str] = ()
    reverted: Sequence[str] = ()
    directory: str = ""
    shows: Shows = Shows.NOTHING

    def as_use(self, call: _Call, origin: Origin | None) -> ToolUse:
        """The call with this meaning."""
        return ToolUse(
            call_id=call.call_id,
            tool=call.tool,
            action=self.action,
            touches=tuple(self.touches),
            outside=tuple(self.outside),
            patterns=self.patterns,
            places=tuple(self.places),
            command=self.command,
            runner=self.runner,
            reference=self.reference,
            origin=origin,
            written=self.written,
            named=tuple(self.named),
            gone=tuple(self.gone),
            reverted=tuple(self.reverted),
            directory=self.directory,
            shows=self.shows,
        )


def _server(tool: str) -> tuple[str, str]:
    """The MCP server that a tool's name carries, if any, and the tool's own name."""
    if tool.startswith("mcp__"):
        server, _, name = tool[5:].partition("__")
        return (server, name) if name else ("", tool)
    return "", tool


def _row(name: str, arguments: Arguments, rows: UserRows) -> Row:
    key = tool_key(name)
    row = rows.tools.get(key) or ROWS.get(key)
    if row is None:
        # `functions.bash`, `filesystem/read_file`
        last = _LAST_PIECE.search(name)
        key = tool_key(last[1]) if last else key
        row = rows.tools.get(key) or ROWS.get(key)
    if row is None:
        return _guessed(name, arguments)
    if row.action is Action.SEARCH_FILES and "regex" in arguments:
        # Some agents call a search for text so.
        return ROWS["grep"]
    return row


def _guessed(name: str, arguments: Arguments) -> Row:
    """A tool that no table knows, where its arguments leave no doubt."""
    has_file = args.has_any(arguments, _FILE_KEYS)
    if (
        has_file
        and args.has_any(arguments, args.OLD_KEYS)
        and args.has_any(arguments, args.NEW_KEYS)
    ):
        return ROWS["edit"]
    if not arguments:
        return _OTHER
    said = next((row for word in _WORDS.findall(name) if (row := _VERBS.get(word.lower()))), None)
    if said is None:
        is_web = isinstance(arguments.get("url"), str) and "://" in str(arguments["url"])
        return ROWS["web_fetch"] if is_web else _OTHER
    if said.form is Form.SHELL:
        return said if args.command(arguments) else _OTHER
    if said.action in {Action.READ, Action.EDIT}:
        return said if has_file else _OTHER
    if said.action is Action.WRITE:
        return said if has_file and args.has_any(arguments, _TEXT_KEYS) else _OTHER
    return said if args.has_any(arguments, ("pattern", "regex", "glob")) else _OTHER


def _by_keys(call: _Call) -> _Found:
    action, arguments = call.row.action, call.arguments
    match action:
        case Action.SEARCH_TEXT:
            return _search(call, args.TEXT_PATTERN_KEYS)
        case Action.SEARCH_FILES:
            return _search(call, args.FILE_PATTERN_KEYS)
        case Action.WEB:
            reference = args.text(arguments, args.ADDRESS_KEYS) or args.text(
                arguments, args.QUERY_KEYS
            )
            return _Found(action=action, reference=reference[:LONGEST_REFERENCE])
        case Action.READ | Action.EDIT | Action.WRITE:
            return _on_files(call, action)
    found = _Found(action=action)
    if action in {Action.TEST, Action.VCS}:
        found.named, found.outside = _placed(args.texts(arguments, args.PATH_KEYS), call.place)
    if action is Action.TEST:
        found.runner = call.key
    if action is Action.VCS and "diff" in call.key:
        found.shows = Shows.DIFF
    elif action is Action.VCS and "status" in call.key:
        found.shows = Shows.STATUS
    return found


def _on_files(call: _Call, action: Action) -> _Found:
    """Reads, edits and writes of named files."""
    arguments, place = call.arguments, call.place
    raw = list(args.texts(arguments, args.PATH_KEYS))[:MOST_PATHS] or _bare(arguments)
    paths, outside = _placed(raw, place)
    if not raw and place.open_file and call.key in {"edit", "insert"}:
        paths = [place.open_file]
    if action is Action.READ:
        first, last = args.lines(arguments)
        touches = [Touch(path, action, first, last) for path in paths]
        return _found(action, touches, outside)
    touches, written = _edits(call, action, paths)
    if action is Action.WRITE and len(paths) == 1:
        place.note_script(paths[0], script_effects(paths[0], written, place))
    found = _found(action, touches, outside)
    found.written = written[:LONGEST_WRITTEN]
    if call.key == "create" and paths:
        place.open_file = paths[0]
    return found


def _edits(call: _Call, action: Action, paths: Sequence[str]) -> tuple[list[Touch], str]:
    """The touches of a change, and the text that it writes."""
    arguments = call.arguments
    changes = args.items(arguments, args.EDITS_KEYS)
    diff = args.text(arguments, ("diff", "patch"))
    if diff and not changes:
        patch = read_patch(diff, paths[0] if paths else "")
        if patch.touches:
            placed = [(call.place.roots.place(touch.path), touch) for touch in patch.touches]
            return [
                Touch(path, touch.action, touch.first_line, touch.last_line, touch.replaced)
                for path, touch in placed
                if path is not None
            ], diff
    touches: list[Touch] = []
    written: list[str] = []
    for change in changes or [arguments]:
        own, _ = _placed(args.texts(change, args.PATH_KEYS), call.place)
        old = args.text(change, args.OLD_KEYS)[:LONGEST_REPLACED] if action is Action.EDIT else ""
        first, last = (0, 0) if old else args.lines(change)
        touches.extend(Touch(path, action, first, last, old) for path in own or paths)
        written.append(args.text(change, args.NEW_KEYS))
    return touches, "\n".join(written)


def _search(call: _Call, keys: tuple[str, ...]) -> _Found:
    arguments = call.arguments
    pattern = args.text(arguments, keys) or next(iter(_bare(arguments)), "")
    raw = [each for each in args.texts(arguments, args.PLACE_KEYS) if each != pattern]
    places, outside = _placed([each for each in raw if is_path(each)], call.place)
    return _Found(
        action=call.row.action,
        patterns=(pattern,) if pattern and pattern not in raw else (),
        places=places,
        outside=outside,
        origin=_dependency(places, outside),
    )


def _shell(call: _Call) -> _Found:
    command = args.command(call.arguments)
    where = args.text(call.arguments, ("workdir", "cwd", "working_directory", "working_dir"))
    if where:
        call.place.roots.learn(where)
    meaning = meaning_of(
        command,
        call.place,
        keeps_directory=call.tool in KEEPS_DIRECTORY,
        directory=where,
        own=call.rows.programs,
    )
    found = _from_meaning(meaning)
    found.command = command[:LONGEST_COMMAND]
    return found


def _from_meaning(meaning: Meaning) -> _Found:
    return _Found(
        action=meaning.action,
        touches=tuple(meaning.touches),
        outside=tuple(meaning.outside),
        patterns=meaning.patterns,
        places=tuple(meaning.places),
        runner=meaning.runner,
        reference=meaning.reference,
        origin=meaning.origin,
        written=meaning.written,
        named=tuple(meaning.named),
        gone=tuple(meaning.gone),
        reverted=tuple(meaning.reverted),
        directory=meaning.directory,
        shows=meaning.shows,
    )


def _code(call: _Call) -> _Found:
    code = args.text(call.arguments, args.CODE_KEYS)
    paths, outside = _placed(changed_files(code), call.place)
    touches = [Touch(path, Action.EDIT) for path in paths]
    return _Found(
        action=Action.EDIT if touches else Action.RUN,
        touches=touches,
        outside=outside,
        command=code[:LONGEST_COMMAND],
        written=code[:LONGEST_WRITTEN] if touches else "",
    )


def _patch(call: _Call) -> _Found:
    raw = next(iter(args.texts(call.arguments, _FILE_KEYS)), "")
    written = "\n".join(args.texts(call.arguments, args.PATCH_KEYS))
    patch = read_patch(written, raw)
    touches: list[Touch] = []
    outside: list[str] = []
    for touch in patch.touches or ([Touch(raw, Action.EDIT)] if raw else ()):
        paths, elsewhere = _placed((touch.path,), call.place)
        outside.extend(elsewhere)
        touches.extend(
            Touch(path, touch.action, touch.first_line, touch.last_line, touch.replaced)
            for path in paths
        )
    gone, _ = _placed(patch.gone, call.place)
    found = _found(call.row.action, touches, outside)
    found.gone, found.written = gone, written[:LONGEST_WRITTEN]
    return found


_EDITOR_VERBS: Mapping[str, Action] = MappingProxyType({
    "view": Action.READ,
    "read": Action.READ,
    "create": Action.WRITE,
    "write": Action.WRITE,
})  # fmt: skip


def _editor(call: _Call) -> _Found:
    verb = args.text(call.arguments, ("command",)).strip().lower()
    action = _EDITOR_VERBS.get(verb, Action.EDIT)
    raw = args.text(call.arguments, args.PATH_KEYS)
    if action is Action.READ and raw and call.place.roots.is_root(raw):
        return _Found(action=Action.SEARCH_FILES)
    return _on_files(call, action)


def _open_file(call: _Call) -> _Found:
    """An editor that shows one file at a time."""
    place = call.place
    paths, outside = _placed(args.texts(call.arguments, args.PATH_KEYS), place)
    if paths:
        place.open_file = paths[0]
    line = args.number(call.arguments, args.FIRST_KEYS)
    touches = [Touch(place.open_file, Action.READ, line, 0)] if place.open_file else []
    return _found(Action.READ, touches, outside)


def _move(call: _Call) -> _Found:
    sources, outside = _placed(
        args.texts(call.arguments, ("source", "source_path", "path", "from", "old_path")),
        call.place,
    )
    targets, _ = _placed(args.texts(call.arguments, args.TARGET_KEYS), call.place)
    is_copy = "copy" in call.key or "cp" in call.key
    return _Found(
        action=call.row.action,
        touches=[Touch(path, Action.WRITE) for path in targets],
        named=sources if is_copy else (),
        gone=() if is_copy else sources,
        outside=outside,
    )


def _delete(call: _Call) -> _Found:
    gone, outside = _placed(args.texts(call.arguments, args.PATH_KEYS), call.place)
    return _Found(action=call.row.action, gone=gone, outside=outside)


def _page(call: _Call) -> _Found:
    """A browser; what it shows is a stranger's unless the page is one of this machine."""
    address = args.text(call.arguments, args.ADDRESS_KEYS)
    if not address:
        match = _ADDRESS.search(args.text(call.arguments, ("code", "text", "arg1")))
        address = match[0] if match else ""
    if address:
        call.place.is_page_local = is_local(address)
    return _Found(
        action=call.row.action,
        reference=address[:LONGEST_REFERENCE],
        origin=None if call.place.is_page_local else Origin.WEB,
    )


_READERS: Mapping[Form, Callable[[_Call], _Found]] = MappingProxyType({
    Form.KEYS: _by_keys,
    Form.SHELL: _shell,
    Form.CODE: _code,
    Form.PATCH: _patch,
    Form.EDITOR: _editor,
    Form.OPEN_FILE: _open_file,
    Form.MOVE: _move,
    Form.DELETE: _delete,
    Form.PAGE: _page,
})  # fmt: skip


def _found(action: Action, touches: Sequence[Touch], outside: Sequence[str]) -> _Found:
    origin = None
    if action not in CHANGES:
        origin = _dependency([touch.path for touch in touches], outside)
    return _Found(action=action, touches=touches, outside=outside, origin=origin)


def _dependency(inside: Sequence[str], outside: Sequence[str]) -> Origin | None:
    is_theirs = any(is_dependency(path) for path in (*inside, *outside))
    return Origin.DEPENDENCY if is_theirs else None


def _placed(raw: Iterable[str], place: Workplace) -> tuple[list[str], list[str]]:
    """The project's paths among these, each once, and those outside."""
    inside: dict[str, None] = {}
    outside: dict[str, None] = {}
    for path in itertools.islice(raw, MOST_PATHS):
        text = path.removeprefix("file://")
        own = place.roots.place(text)
        if own is not None:
            inside[own] = None
        elif text.strip() and not place.roots.is_root(text):
            outside[text.strip()] = None
    return list(inside), list(outside)


def _bare(arguments: Arguments) -> list[str]:
    """The one argument of a tool that has no names for them."""
    value = arguments.get("arg1")
    return [value] if isinstance(value, str) and value.strip() else []
