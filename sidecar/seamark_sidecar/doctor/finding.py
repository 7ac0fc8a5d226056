"""What a check found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How bad it is."""

    OK = "ok"
    # Memory works, but not as well as it could.
    WARN = "warn"
    # Memory does not work, or not for long.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check has to say."""

    state: State
    what: str
    # For people; empty when there is nothing to do.
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A verdict under the name of its check."""

    name: str
    state: State
    what: str
    todo: str


def ok(what: str) -> Verdict:
    return Verdict(State.OK, what)


def warn(what: str, todo: str) -> Verdict:
    return Verdict(State.WARN, what, todo)


def fail(what: str, todo: str) -> Verdict:
    return Verdict(State.FAIL, what, todo)
