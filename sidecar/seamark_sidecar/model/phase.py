"""Where work stands, in terms that every methodology maps its own to."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """What an agent is at."""

    # Plans, requirements, tests that fail on purpose.
    DEFINE = "define"
    IMPLEMENT = "implement"
    # Reviews, acceptance.
    VALIDATE = "validate"
    # Refactoring, and fixing what validation found.
    REFINE = "refine"
    EXPLORE = "explore"
    # Looking back on what was done.
    REFLECT = "reflect"

    @classmethod
    def named(cls, name: str) -> Phase | None:
        """The phase of this name, if there is one."""
        return _PHASES.get(name)


_PHASES = {str(each): each for each in Phase}
