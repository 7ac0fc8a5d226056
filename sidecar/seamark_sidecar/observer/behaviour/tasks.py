"""What kind of task a person gave the agent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from seamark.events import UserSaid
from seamark_sidecar.observer.moment import Moment

OTHER = "other"
# The words that name a kind of task, the most telling kind first. A word counts when a word of
# the text begins with it.
TASKS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "bug_fix":  ("fix", "bug", "broken", "crash", "regress", "wrong", "incorrect", "fail", "error",
                 "issue", "traceback", "exception", "unexpected"),
    "refactor": ("refactor", "rename", "clean up", "cleanup", "simplif", "extract", "restructur",
                 "migrat", "moderni", "dedup", "reorgani"),
    "test":     ("test", "coverage", "unittest", "e2e"),
    "docs":     ("document", "docs", "readme", "changelog", "docstring", "comment"),
    "review":   ("review", "audit"),
    "explore":  ("explain", "how does", "what is", "why does", "investigat", "understand",
                 "look at", "where is", "analy"),
    "upgrade":  ("upgrade", "bump", "update depend", "dependabot"),
    "release":  ("release", "publish", "deploy"),
    "feature":  ("add", "implement", "feature", "support", "create", "build", "introduce", "allow",
                 "enable", "make", "new"),
})  # fmt: skip
LONGEST_TASK = 600

_KINDS = re.compile(
    r"\b(?:"
    + "|".join(
        f"(?P<{kind}>{'|'.join(re.escape(word) for word in words)})"
        for kind, words in TASKS.items()
    )
    + ")"
)


def task_type(text: str) -> str:
    """The kind that the text's words name most often, `other` when they name none."""
    counts: dict[str, int] = {}
    for match in _KINDS.finditer(text[:LONGEST_TASK].lower()):
        kind = match.lastgroup or OTHER
        counts[kind] = counts.get(kind, 0) + 1
    if not counts:
        return OTHER
    most = max(counts.values())
    return next(kind for kind in TASKS if counts.get(kind) == most)


class Task:
    """The kind of the session's task, from the first thing a person said."""

    __slots__ = ("kind",)

    def __init__(self) -> None:
        self.kind = ""

    def see(self, moment: Moment) -> None:
        """Takes the moment into account."""
        if not self.kind and isinstance(moment.body, UserSaid):
            self.kind = task_type(moment.body.text)
