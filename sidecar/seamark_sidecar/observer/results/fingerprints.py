"""Errors without what changes from run to run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamark_sidecar.observer.text.wording import one_line

LONGEST = 300

ANSI = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_DAY = r"\d{4}[-/]\d{2}[-/]\d{2}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?"
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?|h|hours?)"
_NUMBER = r"\d{1,30}(?:\.\d{1,30})?"
_HEX = "[0-9a-fA-F]"
# What changes from run to run, in the order in which it is taken out.
VARIABLE_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (ANSI, ""),
    (re.compile(rf"\b{_DAY}(?:[T ]{_CLOCK})?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?\b"), "<time>"),
    (re.compile(rf"\b{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b"), "<id>"),
    (re.compile(r"\b(?:https?|wss?|file|postgres|redis)://[^\s'\"<>)]{1,300}"), "<url>"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b|\blocalhost:\d{1,5}\b"), "<host>"),
    (re.compile(r"\[::1?\]:\d{1,5}"), "<host>"),
    # A path from the root of a machine: what stands before the file's own name.
    (re.compile(r"(?<![\w.~-])(?:~|[A-Za-z]:)?[/\\](?:[\w.@+~-]{1,120}[/\\]){0,40}"), "…/"),
    (re.compile(r"\b(?:[Tt]e?mp|pytest(?:-of)?)[-_.]?(?=[\w-]{0,40}[\d_])[\w-]{3,60}"), "<tmp>"),
    (re.compile(r"\btmp(?:[a-z0-9_]{8}|\.\w{6,12})\b"), "<tmp>"),
    (re.compile(rf"0x{_HEX}{{1,40}}"), "0x"),
    (re.compile(r"\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(rf"\b{_NUMBER}\s?{_UNIT}(?:{_NUMBER}\s?(?:ms|s))?\b"), "<duration>"),
    (re.compile(r"\bv?\d{1,9}\.\d{1,9}(?:\.\d{1,9}){1,5}"
                r"(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta|pre)[\w.]{0,20})?\b"), "<version>"),
    (re.compile(r"\bv\d{1,9}\.\d{1,9}\b"), "<version>"),
    (re.compile(r"\d+"), "0"),
)  # fmt: skip
# Before a quoted word that is a name in the code, and so part of what went wrong; other quoted
# text is a value, and changes.
_NAMING = re.compile(
    r"(?:modules? named|import name|attributes?|fixture|arguments?|keyword|name|function|method|"
    r"class|package|command|option|table|column|property|type|field|variable|symbol|identifier|"
    r"target|KeyError:|module|from|member|export|task|script|object|recipe|file|directory|open)\s?$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'([^'\n]{0,200})'|\"([^\"\n]{0,200})\"|`([^`\n]{0,200})`|‘([^’\n]{0,200})’")
_NAME = re.compile(r"[A-Za-z_@.…][\w.@/:…-]{0,80}")
_LOOK_BACK = 24


def fingerprint(error: str) -> str:
    """The error without what changes from run to run."""
    text = error[:LONGEST]
    for pattern, plain in VARIABLE_PARTS:
        text = pattern.sub(plain, text)
    return one_line("".join(_without_values(text))).lower()


def _without_values(text: str) -> Iterator[str]:
    end = 0
    for match in _QUOTED.finditer(text):
        yield text[end : match.start()]
        inside = next(filter(None, match.groups()), "")
        yield f"'{inside}'" if _is_name(text, match.start(), match.end(), inside) else "'…'"
        end = match.end()
    yield text[end:]


def _is_name(text: str, start: int, end: int, inside: str) -> bool:
    if not _NAME.fullmatch(inside):
        return False
    return (
        not text[:start].strip()
        or text.startswith(" object", end)
        or _NAMING.search(text[max(0, start - _LOOK_BACK) : start]) is not None
    )
