"""What a tool call means, whatever the framework calls its tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from seamark_sidecar.observer.paths import project_path
from seamark_sidecar.observer.use import CHANGES, Action, ToolUse, Touch

ACTIONS: Mapping[str, Action] = MappingProxyType({
    "read": Action.READ,
    "read_file": Action.READ,
    "view": Action.READ,
    "open_file": Action.READ,
    "cat": Action.READ,
    "edit": Action.EDIT,
    "edit_file": Action.EDIT,
    "multiedit": Action.EDIT,
    "str_replace": Action.EDIT,
    "apply_patch": Action.EDIT,
    "write": Action.WRITE,
    "write_file": Action.WRITE,
    "create_file": Action.WRITE,
    "grep": Action.SEARCH_TEXT,
    "grep_search": Action.SEARCH_TEXT,
    "search": Action.SEARCH_TEXT,
    "search_files": Action.SEARCH_TEXT,
    "bash": Action.RUN,
    "shell": Action.RUN,
    "run": Action.RUN,
    "run_command": Action.RUN,
    "execute": Action.RUN,
    "terminal": Action.RUN,
})  # fmt: skip

PATH_KEYS = ("path", "file_path", "filename", "file", "target_file", "relative_path")
COMMAND_KEYS = ("command", "cmd", "commands")

LONGEST_COMMAND = 2000

_SEPARATORS = re.compile(r"[-.\s]+")
# A key with a text as its value, in arguments too long to have arrived whole.
_PAIR = re.compile(r'"(\w{1,40})"\s{0,8}:\s{0,8}("(?:[^"\\]|\\.){0,2000}+")')


def understand(call_id: str, tool: str, arguments_json: str, root: str) -> ToolUse:
    """The call in our terms; one that means nothing to us is `other`."""
    arguments = _arguments(arguments_json)
    action = ACTIONS.get(_SEPARATORS.sub("_", tool.strip().lower()), Action.OTHER)
    return ToolUse(
        call_id=call_id,
        tool=tool,
        action=action,
        touches=tuple(_touches(arguments, action, root)),
        command=next(_texts(arguments, COMMAND_KEYS), "")[:LONGEST_COMMAND]
        if action is Action.RUN
        else "",
    )


def _arguments(arguments_json: str) -> Mapping[str, object]:
    try:
        parsed = json.loads(arguments_json)
        return parsed if isinstance(parsed, dict) else {}
    except (ValueError, RecursionError):
        return _readable(arguments_json)


def _readable(arguments_json: str) -> Mapping[str, object]:
    """What can be read of arguments that were cut, such as the path of a large file written."""
    pairs: dict[str, object] = {}
    for key, value in _PAIR.findall(arguments_json):
        if key in PATH_KEYS or key in COMMAND_KEYS:
            try:
                pairs.setdefault(key, json.loads(value))
            except ValueError:
                continue
    return pairs


def _touches(arguments: Mapping[str, object], action: Action, root: str) -> Iterator[Touch]:
    if action is not Action.READ and action not in CHANGES:
        return
    for text in _texts(arguments, PATH_KEYS):
        path = project_path(text, root)
        if path is not None:
            yield Touch(path, action)


def _texts(arguments: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            yield value
