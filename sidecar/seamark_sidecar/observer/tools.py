"""What a tool call means, whatever the framework calls its tools."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Action(StrEnum):
    """What a call does, as far as memory is concerned."""

    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    SEARCH_TEXT = "search_text"
    RUN = "run"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call, understood."""

    call_id: str
    tool: str
    action: Action
    # Project-relative; paths outside the project are left out.
    files: tuple[str, ...] = ()
    command: str = ""


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

_SEPARATORS = re.compile(r"[-.\s]+")


def understand(call_id: str, tool: str, arguments_json: str, root: str) -> ToolUse:
    """The call in our terms; one that means nothing to us is `other`."""
    arguments = _arguments(arguments_json)
    action = ACTIONS.get(_SEPARATORS.sub("_", tool.strip().lower()), Action.OTHER)
    return ToolUse(
        call_id=call_id,
        tool=tool,
        action=action,
        files=tuple(_files(arguments, root)) if action is not Action.RUN else (),
        command=next(_texts(arguments, COMMAND_KEYS), "") if action is Action.RUN else "",
    )


def project_path(path: str, root: str) -> str | None:
    """The path relative to the project; None when it lies outside."""
    text = path.strip().replace("\\", "/")
    if not text or "\0" in text or "\n" in text:
        return None
    if posixpath.isabs(text):
        if not root:
            return None
        text = posixpath.relpath(posixpath.normpath(text), root)
    text = posixpath.normpath(text)
    if text in {".", ".."} or text.startswith("../"):
        return None
    return text


def _arguments(arguments_json: str) -> Mapping[str, object]:
    try:
        parsed = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _files(arguments: Mapping[str, object], root: str) -> Iterator[str]:
    for text in _texts(arguments, PATH_KEYS):
        path = project_path(text, root)
        if path is not None:
            yield path


def _texts(arguments: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            yield value
