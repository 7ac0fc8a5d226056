"""Ways of working that recur: the same few steps, in the same order, with success."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import returned_use
from seamark_sidecar.observer.behaviour.file_roles import is_test, module_of
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import keep_heaviest
from seamark_sidecar.observer.calls.use import COMMANDS, Action, ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

SHORTEST = 4
LONGEST = 6
# Steps kept for telling a sequence when its last step comes.
MOST_RECENT = 8
LEAST_COUNT = 2
LEAST_SUCCESS = 0.8
# A sequence of less variety is one thing done again and again.
LEAST_VARIETY = 3
MOST_SEQUENCES = 900
MOST_SIGNALS = 5
LONGEST_WORD = 40

# Where the name of an action is no word that one would say.
VERBS: Mapping[Action, str] = MappingProxyType({
    Action.SEARCH_TEXT: "search",
    Action.SEARCH_FILES: "list files",
    Action.WEB: "look up on the web",
    Action.UI: "use the interface",
})  # fmt: skip

Sequence = tuple[str, ...]


@dataclass(slots=True)
class _Recurrence:
    first_step: int
    # Where it last ended, so that overlapping ones count once.
    end: int
    count: int = 1
    successes: int = 0
    step: int = 0

    @property
    def success_rate(self) -> float:
        return self.successes / self.count


class Recurring:
    """Counts the sequences of 4 to 6 normalised steps that end with each call."""

    def __init__(self) -> None:
        self._recent: deque[tuple[str, bool]] = deque(maxlen=MOST_RECENT)
        self._found: dict[Sequence, _Recurrence] = {}
        self._position = 0
        self._task = Task()

    def see(self, moment: Moment) -> None:
        use = returned_use(moment)
        if use is None or moment.result is None:
            self._task.see(moment)
            return
        if use.action is Action.OTHER:
            # Lists of things to do and other bookkeeping are no step of the way.
            return
        word, is_well = normalised(use), moment.result.failure is None
        if self._recent and self._recent[-1][0] == word:
            # Page after page, file after file: one step of the way.
            self._recent[-1] = (word, is_well and self._recent[-1][1])
            return
        self._recent.append((word, is_well))
        self._position += 1
        recent = tuple(self._recent)
        for length in range(SHORTEST, min(LONGEST, len(recent)) + 1):
            self._ended(recent[-length:], moment.step)

    def signals(self) -> Iterable[Signal]:
        recurring = [
            (words, found)
            for words, found in self._found.items()
            if found.count >= LEAST_COUNT and found.success_rate > LEAST_SUCCESS
        ]
        # The longest of those that tell the same, most frequent first.
        recurring.sort(key=lambda item: (-item[1].count * len(item[0]), item[1].first_step))
        chosen: list[tuple[Sequence, _Recurrence]] = []
        for words, found in recurring:
            if len(chosen) >= MOST_SIGNALS:
                break
            if not any(_is_told_by(words, longer) for longer, _ in chosen):
                chosen.append((words, found))
        for words, found in sorted(chosen, key=lambda item: item[1].step):
            yield self._signal(words, found)

    def size(self) -> int:
        return 700 * len(self._found)

    def shrink(self) -> None:
        keep_heaviest(self._found, 1, _count)

    def _ended(self, steps: tuple[tuple[str, bool], ...], step: int) -> None:
        words = tuple(word for word, _ in steps)
        if len(set(words)) < LEAST_VARIETY or _goes_round(words):
            return
        is_well = all(well for _, well in steps)
        found = self._found.get(words)
        if found is None:
            keep_heaviest(self._found, MOST_SEQUENCES, _count)
            self._found[words] = _Recurrence(step, self._position, 1, int(is_well), step)
        elif self._position - found.end >= len(words):
            found.end = self._position
            found.count += 1
            found.successes += is_well
            if found.count == LEAST_COUNT:
                found.step = step

    def _signal(self, words: Sequence, found: _Recurrence) -> Signal:
        return Signal(
            kind=SignalKind.SEQUENCE,
            step=found.step,
            confidence=round(min(0.85, 0.4 + 0.1 * found.count), 2),
            key=finding_key("sequence", " then ".join(_from_the_top(words))),
            details={
                "steps": words,
                "count": found.count,
                "success_rate": round(found.success_rate, 3),
                "first_step": found.first_step,
                "task_type": self._task.kind,
            },
            content=f"A way of working that recurs here: {', then '.join(words)} "
            f"({found.count} times in one session, {found.success_rate:.0%} without a failure).",
            type=MemoryType.WORKFLOW_RECIPE,
        )


def normalised(use: ToolUse) -> str:
    """The call in words that another session would also give: places instead of files."""
    if use.action is Action.TEST:
        return f"test with {use.runner or 'the runner'}"
    if use.action in COMMANDS and use.command:
        words = [word for word in use.command.split()[:12] if not word.startswith(("-", "/", "$"))]
        shown = words[: 2 if use.action is Action.VCS else 1] or ["a command"]
        return f"run {' '.join(shown)[:LONGEST_WORD]}"
    verb = VERBS.get(use.action, use.action.value)
    place = use.touches[0].path if use.touches else next(iter(use.places), "")
    if place:
        where = "the tests" if is_test(place) else module_of(place)
        return f"{verb} in {where}"
    return verb


def _from_the_top(words: Sequence) -> Sequence:
    """The rotation that sorts first: a cycle is the same wherever one begins to count."""
    return min(words[start:] + words[:start] for start in range(len(words)))


def _goes_round(words: Sequence) -> bool:
    """Whether it is a shorter sequence and the beginning of the next round."""
    return any(
        words[length:] == words[: len(words) - length] for length in range(SHORTEST, len(words))
    )


def _is_told_by(words: Sequence, other: Sequence) -> bool:
    """Whether it is a part of the other, going round."""
    if len(words) > len(other):
        words, other = other, words
    twice = other + other
    return any(twice[at : at + len(words)] == words for at in range(len(other)))


def _count(found: _Recurrence) -> float:
    return found.count
