"""Reads where work stands from how agents usually write it down."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from seamark_sidecar.methodology.plugin import Json, WorkState

_BULLET_MARK = r"[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}"
# `- [x] done`, `* [ ] open`, `1. [ ] open`.
_ITEM = re.compile(_BULLET_MARK + r"\[(?P<mark>[ xX~-])\][ \t]{1,4}(?P<what>\S.{0,300})")
_BULLET = re.compile(_BULLET_MARK + r"(?P<what>\S.{0,300})")
# `## Remaining`, `**Done:**`, `Next steps:` and the like, alone on a line.
_HEADING = re.compile(
    r"(?:#{1,6}[ \t]{1,4}|\*\*)?(?P<name>[A-Za-z][A-Za-z ]{2,30}?)[ \t]{0,2}:?(?:\*\*)?:?"
)

# Headings that say what the list below them is.
_SECTIONS: Mapping[str, str] = {
    "done": "done",
    "completed": "done",
    "what was done": "done",
    "remaining": "open",
    "remaining work": "open",
    "remaining tasks": "open",
    "left": "open",
    "todo": "open",
    "to do": "open",
    "next": "open",
    "next steps": "open",
    "not done": "open",
    "in progress": "current",
    "current": "current",
    "blocked": "blocked",
    "blockers": "blocked",
    "open questions": "questions",
    "decisions": "decisions",
}
_TITLES: Mapping[str, str] = {
    "unit": "Working on",
    "done": "Done",
    "current": "In progress",
    "open": "Still to do",
    "blocked": "Blocked by",
    "questions": "Open questions",
    "decisions": "Decided",
}
MOST_LINES = 2000
MOST_ITEMS = 20
LONGEST_ITEM = 300


def read_lists(output: str) -> WorkState:
    """Checklists, and lists under a heading that says what they are."""
    found: dict[str, list[str]] = {}
    section = ""
    # What was said last counts most.
    for line in output.splitlines()[-MOST_LINES:]:
        if item := _ITEM.match(line):
            kind = {"x": "done", " ": "open"}.get(item["mark"].lower(), "current")
            _put(found, kind, item["what"])
        elif section and (item := _BULLET.match(line)):
            _put(found, section, item["what"])
        elif heading := _HEADING.fullmatch(line.strip()):
            section = _SECTIONS.get(" ".join(heading["name"].lower().split()), "")
        elif line.strip():
            section = ""
    return {kind: tuple(items[-MOST_ITEMS:]) for kind, items in found.items()}


def list_text(state: WorkState) -> str:
    """The lists of a state, each under its title; what is not one of them is left out."""
    parts = []
    for kind, title in _TITLES.items():
        items = _texts(state.get(kind))
        if len(items) == 1:
            parts.append(f"{title}: {items[0]}")
        elif items:
            parts.append("\n".join((f"{title}:", *(f"- {item}" for item in items))))
    return "\n".join(parts)


def _put(found: dict[str, list[str]], kind: str, what: str) -> None:
    text = " ".join(what.split())[:LONGEST_ITEM]
    items = found.setdefault(kind, [])
    if text not in items:
        items.append(text)


def _texts(value: Json) -> Sequence[str]:
    if isinstance(value, str):
        return [" ".join(value.split())[:LONGEST_ITEM]] if value.strip() else []
    if not isinstance(value, Sequence):
        return []
    return [
        " ".join(item.split())[:LONGEST_ITEM]
        for item in value[:MOST_ITEMS]
        if isinstance(item, str) and item.strip()
    ]
