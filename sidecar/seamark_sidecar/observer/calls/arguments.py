"""The arguments of a tool call, whatever a framework calls them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

# Keys are compared without case, underscores and hyphens: `file_path`, `filePath` and `FilePath`.
PATH_KEYS = (
    "path", "file_path", "filename", "file_name", "file", "target_file", "relative_path",
    "absolute_path", "notebook_path", "relative_workspace_path", "uri", "paths", "files",
    "file_paths", "source_path", "source",
)  # fmt: skip
PLACE_KEYS = (
    "path", "dir", "directory", "dir_path", "directory_path", "search_path", "search_directory",
    "include_pattern", "paths", "file", "file_path", "target_directories",
    "relative_workspace_path", "file_name",
)  # fmt: skip
TARGET_KEYS = ("destination", "destination_path", "new_path", "to")
COMMAND_KEYS = (
    "command",
    "cmd",
    "commands",
    "command_line",
    "script",
    "bash_command",
    "input",
    "arg1",
)
CODE_KEYS = ("code", "query", "python_code", "source", "input", "arg1")
TEXT_PATTERN_KEYS = (
    "pattern",
    "regex",
    "query",
    "search_term",
    "search",
    "text",
    "substring_pattern",
)
FILE_PATTERN_KEYS = (
    "pattern", "glob_pattern", "glob", "query", "file_name", "name", "file_mask", "search_term"
)  # fmt: skip
ADDRESS_KEYS = ("url", "urls", "uri", "href", "link")
QUERY_KEYS = ("query", "q", "search_query", "search_term", "keywords", "prompt", "input", "arg1")
OLD_KEYS = (
    "old_string", "old_str", "old_text", "search", "target_content", "old", "find", "old_content",
    "needle", "search_string",
)  # fmt: skip
NEW_KEYS = (
    "new_string", "new_str", "new_text", "replace", "replacement_content", "content", "contents",
    "file_text", "text", "code_content", "code_edit", "new_source", "replacement", "new", "data",
    "insert_text", "replacement_text", "file_content", "repl", "new_content", "body",
)  # fmt: skip
PATCH_KEYS = (
    "patch",
    "diff",
    "input",
    "patch_text",
    "edits",
    "edit",
    "text",
    "content",
    "arg1",
    "blocks",
)
FIRST_KEYS = ("start_line", "line_start", "start_line_one_indexed", "offset", "line_number", "line",
              "insert_line", "start", "first_line")  # fmt: skip
LAST_KEYS = ("end_line", "line_end", "end_line_one_indexed_inclusive", "end", "last_line")
COUNT_KEYS = ("limit", "line_count", "length")
EDITS_KEYS = ("edits", "replacements", "replacement_chunks", "changes", "operations")

MOST_VALUES = 50

_JOINTS = str.maketrans("", "", "_- ")
# A key with a text as its value, in arguments too long to have arrived whole.
_PAIR = re.compile(r'"(\w{1,40})"\s{0,8}:\s{0,8}("(?:[^"\\]|\\.){0,2000}+")')
_CUT_KEYS = frozenset(
    key.translate(_JOINTS) for key in (*PATH_KEYS, "command", "cmd", "commands", "command_line")
)

Arguments = Mapping[str, object]


def read_arguments(arguments_json: str) -> Arguments:
    """The arguments by plain keys; what cannot be read is left out.

    A bare text or a list of words is what a tool with one argument gets.
    """
    try:
        parsed = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return _readable(arguments_json)
    if isinstance(parsed, dict):
        if len(parsed) == 1:
            # Wrapped once more by some frameworks.
            (inner,) = parsed.values()
            if isinstance(inner, dict) and next(iter(parsed)) in {"args", "kwargs", "arguments"}:
                parsed = inner
        return {_plain(key): value for key, value in parsed.items()}
    if isinstance(parsed, str | list):
        return {"arg1": parsed}
    return {}


def _plain(key: str) -> str:
    return key.translate(_JOINTS).lower()


def _readable(arguments_json: str) -> Arguments:
    """What can be read of arguments that were cut, such as the path of a large file written."""
    pairs: dict[str, object] = {}
    for name, value in _PAIR.findall(arguments_json):
        key = _plain(name)
        if key in _CUT_KEYS:
            try:
                pairs.setdefault(key, json.loads(value))
            except ValueError:
                continue
    return pairs


_PLAIN_KEYS: dict[tuple[str, ...], tuple[str, ...]] = {}


def _keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    plain = _PLAIN_KEYS.get(keys)
    if plain is None:
        plain = _PLAIN_KEYS.setdefault(keys, tuple(map(_plain, keys)))
    return plain


def texts(arguments: Arguments, keys: tuple[str, ...]) -> Iterator[str]:
    """The texts under these keys, in their order; a list is all of its texts."""
    for key in _keys(keys):
        value = arguments.get(key)
        if isinstance(value, str):
            if value.strip():
                yield value
        elif isinstance(value, list):
            for each in value[:MOST_VALUES]:
                if isinstance(each, str) and each.strip():
                    yield each
                elif isinstance(each, dict):
                    # `files: [{"path": ...}]`
                    inner = each.get("path") or each.get("file_path")
                    if isinstance(inner, str) and inner.strip():
                        yield inner


def text(arguments: Arguments, keys: tuple[str, ...]) -> str:
    """The first text under these keys; empty when there is none."""
    return next(texts(arguments, keys), "")


def number(arguments: Arguments, keys: tuple[str, ...]) -> int:
    """The first whole number under these keys; 0 when there is none."""
    for key in _keys(keys):
        value = arguments.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
            return int(value)
    return 0


def items(arguments: Arguments, keys: tuple[str, ...]) -> list[Arguments]:
    """The tables in the first list of them under these keys, with plain keys of their own."""
    for key in _keys(keys):
        value = arguments.get(key)
        if isinstance(value, list):
            return [
                {_plain(str(name)): each for name, each in item.items()}
                for item in value[:MOST_VALUES]
                if isinstance(item, dict)
            ]
    return []


def has_any(arguments: Arguments, keys: Iterable[str]) -> bool:
    """Whether there is a value under one of these keys."""
    return any(arguments.get(_plain(key)) not in (None, "", []) for key in keys)


def lines(arguments: Arguments) -> tuple[int, int]:
    """The first and last line that the arguments name; 0 where they do not."""
    span = arguments.get("viewrange") or arguments.get("linerange") or arguments.get("range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(each, int) for each in span):
        first, last = span
        return max(first, 0), max(last, 0)
    first, last = number(arguments, FIRST_KEYS), number(arguments, LAST_KEYS)
    count = number(arguments, COUNT_KEYS)
    if not last and count:
        last = (first or 1) + count - 1
    return (first or 1, last) if last else (first, 0)


def command(arguments: Arguments) -> str:
    """The command line; a list of words becomes one, a list of lines is one after another."""
    for key in _keys(COMMAND_KEYS):
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, dict):
            # `{"action": {"command": [...]}}`, as some models send it.
            value = value.get("command") or value.get("cmd")
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            words = [str(each) for each in value[:200]]
            is_lines = key == "commands" or (len(words) == 1)
            return "\n".join(words) if is_lines else shlex.join(words)
    return ""
