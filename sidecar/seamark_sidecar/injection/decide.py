"""Which memories an agent is shown, where, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from seamark.events import MemoryRecorded
from seamark.injections import NOTHING, Citation, Injection
from seamark_sidecar.injection import budget, render
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.shown import Point, Shown
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.retrieval.shelf import Shelf

LEAST_CONFIDENCE = 0.65
# Observed in one session only, yet trusted: the agent itself took the belief back.
TRUSTED_ONCE = frozenset(
    {SignalKind.SELF_CORRECTION, SignalKind.PARALLEL_CONFLICT, SignalKind.DEAD_END}
)
WARNINGS = frozenset({MemoryType.GOTCHA, MemoryType.ERROR_PATTERN, MemoryType.DEAD_END})
FIRST_STEP = 2  # of the injections between steps; the first model call has the session's start
MOST_AT_START = 8
HABITS = "Files that most earlier sessions here needed:"
# What the frame of a block leaves for its lines.
_ROOM = budget.MOST_PER_INJECTION - budget.tokens(render.block(("",)))


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

    def resume(self, decision: Shown, memory: Memory | None) -> None:
        """Takes note of a decision made before the sidecar was started again."""
        line = render.line(memory) if memory is not None else ""
        self.enter(decision, _cost(line) if decision.point is not Point.SEARCH else 0)
        if decision.point is Point.PREPARE_STEP and line:
            self.standing[decision.memory_id] = line


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
        """For the system prompt, and for the first user message.

        A session that is started again, by a client that lost its sidecar, is told the same.
        """
        heading = []
        if sessions:
            plural = "s" * (sessions != 1)
            heading = [f"Using memory of {sessions} session{plural} on this project."]
        pinned = sorted(
            (memory for memory in shelf if memory.pinned and injectable(memory)),
            key=lambda memory: (-memory.confidence, memory.id),
        )
        again = [
            (memory, decision)
            for memory in pinned
            if (decision := ledger.shown.get(memory.id)) is not None
            and decision.point is Point.SESSION_START
        ]
        lines = [*heading, *(render.line(memory) for memory, _ in again)]
        new = self._take(
            ((memory, "pinned") for memory in pinned),
            ledger,
            Point.SESSION_START,
            step=0,
            most=MOST_AT_START - len(again),
            room=_ROOM - sum(map(_cost, lines)),
        )
        lines.extend(render.line(memory) for memory, _ in new)
        system = self._injection(lines, (decision for _, decision in (*again, *new)))
        return system, self._injection(_habit_lines(habits), ())

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
            ledger.standing[f"record:{number}"] = render.own_record(record.content)
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
        room: int = _ROOM,
    ) -> list[tuple[Memory, Shown]]:
        """Those not shown yet that the budgets still allow, in the order offered."""
        taken: list[tuple[Memory, Shown]] = []
        for memory, reason in _unseen(offered, ledger.shown):
            if len(taken) >= most:
                break
            cost = _cost(render.line(memory))
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
    while sum(map(_cost, standing.values())) > _ROOM:
        del standing[next(iter(standing))]


def _cost(line: str) -> int:
    return budget.tokens(f"\n- {line}")


def _habit_lines(paths: Sequence[str]) -> list[str]:
    """One line with as many of the files as fit."""
    line = ""
    for path in map(render.escape, paths):
        longer = f"{line}, {path}" if line else f"{HABITS} {path}"
        if _cost(longer) <= _ROOM:
            line = longer
    return [line] if line else []


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
