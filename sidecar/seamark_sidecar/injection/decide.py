"""Which memories an agent is shown, where, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from seamark.events import MemoryRecorded
from seamark.injections import NOTHING, Citation, Injection
from seamark_sidecar.injection import budget, render
from seamark_sidecar.model.candidate import Signal
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.shown import Point, Shown
from seamark_sidecar.retrieval.shelf import Shelf

LEAST_CONFIDENCE = 0.65
# Observed in one session only, yet trusted: the agent itself took the belief back.
TRUSTED_ONCE = frozenset({Signal.SELF_CORRECTION})
WARNINGS = frozenset({MemoryType.GOTCHA, MemoryType.ERROR_PATTERN, MemoryType.DEAD_END})
FIRST_STEP = 2  # of the injections between steps; the first model call has the session's start
MOST_AT_START = 8


class View(Protocol):
    """What deciding needs to see of a session."""

    def in_sight(self) -> Sequence[str]: ...

    def files_of(self, call_id: str) -> Sequence[str]: ...

    @property
    def records(self) -> Sequence[MemoryRecorded]: ...


@dataclass(slots=True)
class Ledger:
    """What a session was shown: each memory is decided once, across all points."""

    shown: dict[str, Shown] = field(default_factory=dict)
    spent: int = 0
    # What stands in the block before each model call, oldest first: a memory's line by its id.
    standing: dict[str, str] = field(default_factory=dict)
    reflected: int = 0

    def enter(self, decision: Shown, tokens: int) -> None:
        """Takes note of a decision."""
        self.shown[decision.memory_id] = decision
        self.spent += tokens


def injectable(memory: Memory) -> bool:
    """Whether the system may show it unasked."""
    if memory.needs_review or memory.confidence < LEAST_CONFIDENCE:
        return False
    return (
        memory.source is not Source.OBSERVER_INFERRED
        or len(memory.sessions) >= 2
        or memory.signal in TRUSTED_ONCE
    )


@dataclass(frozen=True, slots=True)
class Decider:
    """Chooses for each point. `new_nonce` is given in tests that compare texts."""

    new_nonce: Callable[[], str | None] = lambda: None

    def at_start(
        self, shelf: Shelf, ledger: Ledger, *, sessions: int, habits: Sequence[str]
    ) -> tuple[Injection, Injection]:
        """For the system prompt, and for the first user message."""
        pinned = sorted(
            (memory for memory in shelf if memory.pinned and injectable(memory)),
            key=lambda memory: (-memory.confidence, memory.id),
        )
        chosen = self._take(
            ((memory, "pinned") for memory in pinned[:MOST_AT_START]),
            ledger,
            Point.SESSION_START,
            step=0,
            most=MOST_AT_START,
        )
        lines = [render.line(memory) for memory, _ in chosen]
        if sessions:
            plural = "s" * (sessions != 1)
            lines.insert(0, f"Using memory of {sessions} session{plural} on this project.")
        system = self._injection(lines, (decision for _, decision in chosen))
        named = [render.escape(path) for path in habits]
        first = self._injection(
            [f"Files that most earlier sessions here needed: {', '.join(named)}"] if named else [],
            (),
        )
        return system, first

    def after_tool(
        self, shelf: Shelf, ledger: Ledger, view: View, *, call_id: str, step: int
    ) -> Injection:
        """Warnings about the files of a tool call, to stand beside its result."""
        offered = (
            (memory, f"warns about {path}")
            for path in view.files_of(call_id)
            for memory in shelf.about(path)
            if memory.type in WARNINGS and injectable(memory)
        )
        chosen = self._take(offered, ledger, Point.TOOL_RESULT, step=step)
        return self._injection(
            [render.line(memory) for memory, _ in chosen], (decision for _, decision in chosen)
        )

    def before_step(self, shelf: Shelf, ledger: Ledger, view: View, *, step: int) -> Injection:
        """The block before a model call: what was decided earlier stays in it."""
        if step >= FIRST_STEP:
            offered = (
                (memory, f"about {path}, touched lately")
                for path in view.in_sight()
                for memory in shelf.about(path)
                if injectable(memory)
            )
            for memory, _ in self._take(offered, ledger, Point.PREPARE_STEP, step=step):
                ledger.standing[memory.id] = render.line(memory)
        for number, record in enumerate(view.records[ledger.reflected :], ledger.reflected + 1):
            text = f"[you recorded in this session] {record.content}"
            ledger.standing[f"record:{number}"] = render.escape(text)
        ledger.reflected = len(view.records)
        _evict(ledger.standing)
        decisions = (ledger.shown[name] for name in ledger.standing if name in ledger.shown)
        return self._injection(list(ledger.standing.values()), decisions)

    def _take(
        self,
        offered: Iterable[tuple[Memory, str]],
        ledger: Ledger,
        point: Point,
        *,
        step: int,
        most: int = budget.MOST_MEMORIES_PER_STEP,
    ) -> list[tuple[Memory, Shown]]:
        """Those not shown yet that the budgets still allow, in the order offered."""
        taken: list[tuple[Memory, Shown]] = []
        room = budget.MOST_PER_INJECTION
        for memory, reason in _unseen(offered, ledger.shown):
            if len(taken) >= most:
                break
            cost = budget.tokens(render.line(memory))
            spent_out = ledger.spent + cost > budget.MOST_PER_SESSION
            if cost > room or (spent_out and memory.type not in budget.ALWAYS):
                continue
            room -= cost
            decision = Shown(
                point=point, step=step, memory_id=memory.id, label=memory.label, reason=reason
            )
            ledger.enter(decision, cost)
            taken.append((memory, decision))
        return taken

    def _injection(self, lines: Sequence[str], decisions: Iterable[Shown]) -> Injection:
        if not lines:
            return NOTHING
        return Injection(
            text=render.block(lines, nonce=self.new_nonce()),
            citations=tuple(
                Citation(memory_id=each.memory_id, label=each.label, reason=each.reason)
                for each in decisions
            ),
        )


def _unseen(
    offered: Iterable[tuple[Memory, str]], shown: Mapping[str, Shown]
) -> Iterator[tuple[Memory, str]]:
    met: set[str] = set()
    for memory, reason in offered:
        if memory.id not in shown and memory.id not in met:
            met.add(memory.id)
            yield memory, reason


def _evict(standing: dict[str, str]) -> None:
    """Lets the oldest go until the block fits."""
    while sum(map(budget.tokens, standing.values())) > budget.MOST_PER_INJECTION:
        del standing[next(iter(standing))]


def habits(
    touched: Mapping[str, int], sessions: int, *, already: Collection[str] = ()
) -> list[str]:
    """Files that more than half of at least three sessions touched, the most common first."""
    if sessions < 3:
        return []
    often = [
        (count, path)
        for path, count in touched.items()
        if count / sessions > 0.5 and path not in already
    ]
    return [path for _, path in sorted(often, key=lambda item: (-item[0], item[1]))][:12]
