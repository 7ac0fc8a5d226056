"""What a patch or an edit block changes.

Read are unified diffs, the `*** Begin Patch` form, and SEARCH/REPLACE blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from seamark_sidecar.observer.calls.use import Action, Touch

LONGEST_READ = 200_000
MOST_CHANGES = 100
LONGEST_REPLACED = 2_000

_ENVELOPE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.{1,512})")
_MOVE = re.compile(r"\*\*\* Move to: (.{1,512})")
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,[0-9]{1,9})? @@")
_BLOCK_START = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\b.{0,20}")
_BLOCK_MIDDLE = re.compile(r"={5,9}")
_BLOCK_END = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)\b.{0,20}")
_START_LINE = re.compile(r":start_line: ?([0-9]{1,9})")
_FENCE = re.compile(r"`{3,}.{0,40}")
_PREFIX = re.compile(r"[abciw]/")


@dataclass(frozen=True, slots=True)
class Patch:
    """The files of a patch."""

    touches: tuple[Touch, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """What has been read so far, and the file that the lines belong to."""

    touches: list[Touch] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    path: str = ""
    action: Action = Action.EDIT
    first: int = 0
    last: int = 0
    replaced: list[str] = field(default_factory=list)

    def put(self) -> None:
        """Ends the change at hand."""
        if self.path and len(self.touches) < MOST_CHANGES:
            text = "\n".join(self.replaced)[:LONGEST_REPLACED]
            self.touches.append(Touch(self.path, self.action, self.first, self.last, text))
        self.first = self.last = 0
        self.replaced = []


def read_patch(text: str, path: str = "") -> Patch:
    """The changes; those of a patch that names no file are made to `path`."""
    text = text[:LONGEST_READ]
    if "*** Begin Patch" in text or "*** Update File:" in text or "*** Add File:" in text:
        return _enveloped(text)
    if "<<<<<" in text:
        return Patch(tuple(_blocks(text, path)))
    return _unified(text, path)


def _enveloped(text: str) -> Patch:
    reading = _Reading()
    open_change = False
    for line in text.splitlines():
        match = _ENVELOPE.fullmatch(line.rstrip())
        if match:
            if open_change:
                reading.put()
            reading.path = match[2].strip()
            reading.action = Action.WRITE if match[1] == "Add" else Action.EDIT
            open_change = match[1] != "Delete"
            if not open_change:
                reading.gone.append(reading.path)
        elif (moved := _MOVE.fullmatch(line.rstrip())) is not None:
            reading.gone.append(reading.path)
            reading.path = moved[1].strip()
        elif line.startswith("@@") and reading.replaced:
            reading.put()
        elif line.startswith("-") and open_change:
            reading.replaced.append(line[1:])
    if open_change:
        reading.put()
    return Patch(tuple(reading.touches), tuple(reading.gone[:MOST_CHANGES]))


def _unified(text: str, path: str) -> Patch:
    reading = _Reading(path=path)
    old = ""
    # Lines of the old text that the hunk at hand still holds; within it `---` is no heading.
    remaining = 0
    in_hunk = False
    for line in text.splitlines():
        if line.startswith("--- ") and remaining <= 0:
            if in_hunk:
                reading.put()
            in_hunk = False
            old = _name(line[4:])
        elif line.startswith("+++ ") and remaining <= 0 and not in_hunk:
            new = _name(line[4:])
            if new == "/dev/null":
                reading.gone.append(old)
                reading.path = ""
            else:
                reading.path = new or path
                reading.action = Action.WRITE if old == "/dev/null" else Action.EDIT
        elif (hunk := _HUNK.match(line)) is not None:
            if in_hunk:
                reading.put()
            in_hunk = True
            count = int(hunk[2]) if hunk[2] else 1
            reading.first = int(hunk[1])
            reading.last = reading.first + max(count - 1, 0)
            remaining = count
        elif in_hunk:
            if line.startswith("-"):
                reading.replaced.append(line[1:])
            remaining -= not line.startswith("+")
    if in_hunk:
        reading.put()
    return Patch(tuple(reading.touches), tuple(reading.gone[:MOST_CHANGES]))


def _blocks(text: str, path: str) -> Iterator[Touch]:
    """Edit blocks; each follows the name of its file, or that of the one before."""
    before, first, count = "", 0, 0
    replaced: list[str] | None = None
    is_old = False
    for line in text.splitlines():
        stripped = line.strip()
        if replaced is None:
            if _BLOCK_START.fullmatch(stripped):
                replaced, is_old, first = [], True, 0
                path = _file_name(before) or path
            elif stripped and not _FENCE.fullmatch(stripped):
                before = stripped
        elif _BLOCK_END.fullmatch(stripped):
            count += 1
            if path and count <= MOST_CHANGES:
                old = "\n".join(replaced)[:LONGEST_REPLACED]
                # A block that searches for nothing makes a new file.
                yield Touch(path, Action.EDIT if old.strip() else Action.WRITE, first, 0, old)
            replaced, before = None, ""
        elif _BLOCK_MIDDLE.fullmatch(stripped):
            is_old = False
        elif (numbered := _START_LINE.fullmatch(stripped)) is not None:
            first = int(numbered[1])
        elif is_old and (stripped.strip("-") or not stripped):
            replaced.append(line)


def _name(text: str) -> str:
    """The path of a heading, without its date and the prefix of git."""
    path = text.partition("\t")[0].strip().strip('"')
    return path[2:] if _PREFIX.match(path) else path


def _file_name(line: str) -> str:
    """The line when it can only be a path: aider writes it bare, or in backquotes."""
    name = line.strip("`*# :")
    return name if name and " " not in name and ("." in name or "/" in name) else ""
