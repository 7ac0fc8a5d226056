"""Paths in what searches and version control print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from seamark_sidecar.observer.calls.use import Shows

LONGEST_READ = 60_000
MOST_LINES = 500
MOST_PATHS = 200

# `src/a.py:12:text`, `src/a.py-12-text` of the lines around, `src\\a.py:12`
_MATCH = re.compile(r"((?:[A-Za-z]:)?[^\s:\x00][^:\n\x00]{0,300}?)[:](?:[0-9]{1,9})[:]")
_FILE_LINE = re.compile(r"((?:[A-Za-z]:)?[^\s:\x00][^:\n\x00]{0,300}?):")
_BARE_MATCH = re.compile(r"\s{0,8}[0-9]{1,9}[:\t ]")
_PATH = re.compile(r"(?:[A-Za-z]:[\\/])?[\w@.~/\\+\-()\[\]][\w@.~/\\+\- ()\[\]]{0,300}")
_LONG_LISTING = re.compile(
    r"[-dlcbps][rwxsStT-]{9}[.+@]?\s{1,8}\d{1,6}\s{1,8}\S{1,40}\s{1,8}\S{1,40}\s{1,12}\S{1,15}"
    r"\s{1,4}\S{1,12}\s{1,4}\S{1,4}\s{1,4}\S{1,8} (.{1,300})"
)
_NOTHING_FOUND = re.compile(
    r"(?:no (?:matches|files|results)(?: were)? found|no matches|0 matches|nothing found)\b.{0,80}",
    re.IGNORECASE | re.DOTALL,
)
_FOUND_COUNT = re.compile(r"Found ([0-9]{1,9}) (?:files?|match(?:es)?|lines?|occurrences?)\b")

_DIFF_GIT = re.compile(r'^diff --git (?:a/|"a/)(.{1,300}?) "?b/(.{1,300}?)"?$', re.MULTILINE)
_DIFF_STAT = re.compile(r"^ (\S.{0,300}?) +\| +(?:[0-9]{1,9}\b|Bin\b)", re.MULTILINE)
_NAME_STATUS = re.compile(
    r"^[AMDRTU][0-9]{0,3}\t([^\t\n]{1,300})(?:\t([^\t\n]{1,300}))?$", re.MULTILINE
)
_STATUS_LONG = re.compile(
    r"^\t(?:(?:modified|new file|deleted|renamed|both modified|typechange): {1,12}(.{1,300})"
    r"|(\S.{0,300}))$",
    re.MULTILINE,
)
_STATUS_SHORT = re.compile(r"^[ MADRCU?][ MADRCU?] (\S.{0,300})$", re.MULTILINE)

Place = Callable[[str], str | None]


def found_by_text_search(output: str, place: Place) -> tuple[tuple[str, ...], int]:
    """The files in the answer to a search for text, and the number of matches; -1: unknown."""
    if _says_nothing(output):
        return (), 0
    count = _told_count(output)
    paths: dict[str, None] = {}
    matches = 0
    for line in _lines(output):
        match = _MATCH.match(line) or (None if _BARE_MATCH.match(line) else _FILE_LINE.match(line))
        if match is not None and _looks_like_path(match[1]):
            matches += 1
            _put(paths, match[1], place)
        elif _looks_like_path(line.strip()) and _is_whole_path(line.strip()):
            matches += 1
            _put(paths, line.strip(), place)
        elif line.strip() and line.strip("-") and not line.startswith("Found "):
            matches += 1
    return tuple(paths), matches if count < 0 else count


def found_by_file_search(output: str, place: Place) -> tuple[tuple[str, ...], int]:
    """The same for a search for files or a listing."""
    if _says_nothing(output):
        return (), 0
    count = _told_count(output)
    paths: dict[str, None] = {}
    matches = 0
    for line in _lines(output):
        text = line.strip()
        listed = _LONG_LISTING.fullmatch(text)
        name = listed[1].partition(" -> ")[0] if listed else text
        if not name or name in {".", ".."} or name.startswith("total ") or name.endswith(":"):
            continue
        if _is_whole_path(name):
            matches += 1
            _put(paths, name.removeprefix("- "), place)
    return tuple(paths), matches if count < 0 else count


def changed_paths(output: str, shows: Shows, place: Place) -> tuple[str, ...]:
    """The paths that a look at the working tree shows as changed."""
    output = output[:LONGEST_READ]
    paths: dict[str, None] = {}
    if shows is Shows.NAMES:
        for line in _lines(output):
            if _is_whole_path(line.strip()):
                _put(paths, line.strip(), place)
        return tuple(paths)
    for _, new in _DIFF_GIT.findall(output):
        _put(paths, new, place)
    if shows is Shows.DIFF:
        if not paths:
            for name in _DIFF_STAT.findall(output):
                _put(paths, name.rpartition(" => ")[2].rstrip("}"), place)
        for old, new in _NAME_STATUS.findall(output):
            _put(paths, new or old, place)
        return tuple(paths)
    for named, bare in _STATUS_LONG.findall(output):
        _put(paths, (named or bare).rpartition(" -> ")[2], place)
    for name in _STATUS_SHORT.findall(output):
        _put(paths, name.rpartition(" -> ")[2].strip('"'), place)
    return tuple(paths)


def _says_nothing(output: str) -> bool:
    text = output[:200].strip()
    return not text or _NOTHING_FOUND.fullmatch(text) is not None


def _told_count(output: str) -> int:
    match = _FOUND_COUNT.match(output.lstrip()[:80])
    return int(match[1]) if match else -1


def _lines(output: str) -> Iterator[str]:
    for number, line in enumerate(output[:LONGEST_READ].splitlines()):
        if number >= MOST_LINES:
            return
        yield line


def _looks_like_path(text: str) -> bool:
    """Whether it can hardly be anything else."""
    name = text.replace("\\", "/").rpartition("/")[2]
    return " " not in text and ("/" in text or "\\" in text or "." in name[1:-1])


def _is_whole_path(text: str) -> bool:
    return len(text) < 300 and _PATH.fullmatch(text) is not None


def _put(paths: dict[str, None], raw: str, place: Place) -> None:
    if len(paths) < MOST_PATHS:
        path = place(raw)
        if path is not None:
            paths[path] = None
