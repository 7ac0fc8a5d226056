"""Changes of a file, as far as telling whether one takes another back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seamark_sidecar.observer.calls.use import Action, ToolUse, Touch

MOST_LINES = 40
# Of the lines put in, those that must go again for it to be more than a touch-up.
LEAST_SHARE = 0.34
MANY_LINES = 4
FEW_LINES = 6
# Shorter patterns stand in any text.
LEAST_PATTERN = 8
LONGEST_TEXT = 2_000

# Lines without it say nothing of their own: brackets and the like.
_TELLING = re.compile(r"\w{3}")
# These stand in any code.
_PASSING = re.compile(
    r"^(?:import |from \S{1,100} import|else|try|finally|return$|pass$|break$|continue$|end\b|//|#|"
    r"\*|/\*|\"\"\"|'''|<!--|use |using |include)"
)
# What is put in to see something, and is meant to go.
_PROBE = re.compile(
    r"\bprint\(|console\.log|DEBUG|fmt\.Print|breakpoint\(|\bpdb\b|debugger;|dbg!|var_dump|stderr\.write"
)
# What a stream editor does to lines: takes them out, puts others beside them.
_DELETION = re.compile(r"\d{1,7}(?:,\d{1,7})?d")
_INSERTION = re.compile(r"\d{1,7}[ai]\b|\d{1,7}[ai]\\")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file."""

    step: int
    # Lines that it put in, and those it took out; empty when unknown.
    added: frozenset[str]
    removed: frozenset[str]
    # What it put in and what it took out, as it said it; empty when unknown.
    put: str
    took: str
    # What it wrote, for edits by pattern, which name less than a line.
    text: str
    replaced: str
    first_line: int
    last_line: int
    # It wrote the whole file, and all that it wrote is known.
    is_whole: bool
    # It is there to show something while the agent looks.
    is_probe: bool


def edit_of(done: Sequence[Touch], use: ToolUse, step: int) -> Edit:
    """What the call did to the file that all of these touches are of."""
    replaced = "\n".join(touch.replaced for touch in done)
    added, removed = _lines(use.written), _lines(replaced)
    lines = done[0] if len(done) == 1 else Touch("", Action.EDIT)
    is_written = all(touch.action is Action.WRITE for touch in done)
    return Edit(
        step=step,
        added=added - removed,
        removed=removed - added,
        put=use.written[:LONGEST_TEXT].strip(),
        took=replaced[:LONGEST_TEXT].strip(),
        text=(use.written or use.command)[:LONGEST_TEXT] if use.command else "",
        replaced=replaced if use.command else "",
        first_line=lines.first_line,
        last_line=lines.last_line,
        is_whole=is_written and len(use.written) < LONGEST_TEXT and ">>" not in use.command,
        is_probe=_PROBE.search(use.written[:LONGEST_TEXT]) is not None and len(added) <= FEW_LINES,
    )


def undoes(edit: Edit, earlier: Edit) -> bool:
    """Whether it takes out, or writes over, what the earlier one put in."""
    if edit.is_probe or earlier.is_probe or (edit.text and edit.text == earlier.text):
        return False
    if edit.is_whole and earlier.is_whole:
        gone = len(earlier.added - edit.added)
    else:
        gone = len(earlier.added & edit.removed)
    if gone:
        return gone >= MANY_LINES or gone >= LEAST_SHARE * len(earlier.added)
    if edit.took and edit.took == earlier.put:
        return edit.took not in edit.put and not _PASSING.match(edit.took)
    # An edit by pattern finds what an earlier one put in, and did not find there.
    found = edit.replaced.strip()
    if len(found) >= LEAST_PATTERN and not _PASSING.match(found) and found in earlier.text:
        # What it puts in its place may still hold it, and only adds to it.
        return found not in earlier.replaced and edit.text.count(found) < 2
    if _INSERTION.match(edit.text) or _DELETION.match(earlier.text):
        return False
    # Below the first of them, lines have moved.
    return 0 < edit.first_line <= earlier.first_line <= edit.last_line


def restores(edit: Edit, undone: Edit) -> bool:
    """Whether it may put back what the undone one had taken out."""
    return bool(edit.text) or edit.added <= undone.removed


def is_same(edit: Edit, other: Edit) -> bool:
    """Whether both put in the same."""
    if edit.text or other.text:
        return edit.text == other.text
    return bool(edit.added) and edit.added == other.added


def _lines(text: str) -> frozenset[str]:
    """The lines that would not stand in any text."""
    if not text:
        return frozenset()
    telling = []
    for line in text.splitlines()[: 4 * MOST_LINES]:
        plain = line.strip()[:200]
        if len(plain) >= 6 and _TELLING.search(plain) and not _PASSING.match(plain):
            telling.append(plain)
            if len(telling) >= MOST_LINES:
                break
    return frozenset(telling)
