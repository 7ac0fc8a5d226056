"""Since when a session may speak with the words of outsiders, and which of its findings do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from seamark.events import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.model.marks import NO_MARKS, EarlierMarks, Marks
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.paths import is_dependency
from seamark_sidecar.observer.calls.use import Action, Origin, ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.spans import fingerprints, prose, repeats
from seamark_sidecar.observer.text.wording import one_line

Key = TypeVar("Key")

_LOOKS = frozenset({Action.READ, Action.SEARCH_TEXT, Action.SEARCH_FILES})

# What the agent or a person says itself, so that it is older than a result it stands before.
SAID = frozenset({
    SignalKind.SELF_CORRECTION, SignalKind.DEAD_END, SignalKind.COUPLING, SignalKind.RECORDED,
    SignalKind.USER_CORRECTION, SignalKind.REMEMBER,
})  # fmt: skip

MOST_SPANS = 16_384
MOST_FILES = 2_000
MOST_LOOKED_AT = 64
# Text that comes in pieces is looked at together with the end of the piece before.
TAIL = 300
LONGEST_WHAT = 120
_STEPS = frozenset({"steps", "evidence_steps"})
_BYTES_A_SPAN = 100
_BYTES_A_FILE = 300


@dataclass(frozen=True, slots=True)
class Source:
    """Where text from outside came in."""

    origin: Origin
    step: int
    what: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.what}" if self.what else str(self.origin)


class Taint:
    """Watches one session; all that follows the first text from outside is contaminated.

    Args:
        earlier: What earlier sessions of the project left behind.
        inherited: What contaminates the session as a whole, whatever happens in it.
    """

    def __init__(self, earlier: EarlierMarks = NO_MARKS, inherited: Source | None = None) -> None:
        self._earlier = earlier
        self._inherited = inherited
        self._source: Source | None = None
        # Something was said after that, in the same step.
        self._spoken_after = False
        self._subagent: Source | None = None
        self._subagents_are_clean = False
        self._subagent_is_bad = False
        self._tail = ""
        self._spans: dict[int, None] = {}
        self._files: dict[str, None] = {}
        self._cleaned: dict[str, None] = {}
        self._changed: dict[str, None] = {}

    @property
    def source(self) -> Source | None:
        """The first text from outside that was seen to come in."""
        subagent = None if self._subagents_are_clean else self._subagent
        if subagent is None or self._source is None:
            return subagent or self._source
        return subagent if subagent.step < self._source.step else self._source

    @property
    def inherited(self) -> Source | None:
        """What contaminates the session as a whole."""
        return self._inherited

    @property
    def from_step(self) -> int | None:
        """The step at which it did; None: nothing came in."""
        return self.source.step if self.source is not None else None

    def see(self, moment: Moment) -> None:
        """Takes a moment of the session into account."""
        source = self.source
        if source is not None and isinstance(moment.body, TextProduced | UserSaid | MemoryRecorded):
            self._spoken_after |= moment.step == source.step
        if self._source is None:
            self._source = self._comes_in(moment)
        self._carry(moment)

    def of(self, signal: Signal) -> Source | None:
        """What contaminates this finding, if anything does."""
        if self._inherited is not None:
            return self._inherited
        source = self.source
        if source is not None and self._is_after(signal, source):
            return source
        known = self._spans if source is not None else {}
        if (known or self._earlier) and repeats(signal.content, known, self._earlier):
            return Source(Origin.DERIVED, signal.step, "it repeats text from outside")
        return None

    def inherit(self, source: Source) -> None:
        """All findings are contaminated, because those of another session are."""
        self._inherited = self._inherited or source

    def subagent_was_contaminated(self, source: Source) -> None:
        """All that followed the first call of a subagent is contaminated, or all there is."""
        self._subagents_are_clean = False
        self._subagent_is_bad = True
        if self._subagent is None:
            self.inherit(source)

    def clear_subagents(self) -> None:
        """All agents that worked for this one are known, and nothing came into their sessions."""
        self._subagents_are_clean = True

    def hashes(self) -> Marks:
        """What later sessions are to be told by, as far as it is known now.

        What is only not known to be clean, a subagent that nobody watched, does not go on.
        """
        if self._inherited is not None:
            # It may have come to be known only after they were changed.
            files = dict.fromkeys((*self._files, *self._changed))
            return Marks(spans=tuple(self._spans), files=tuple(files))
        if self.source is None:
            return Marks(cleaned=tuple(self._cleaned))
        if self._source is None and not self._subagent_is_bad:
            return Marks()
        return Marks(spans=tuple(self._spans), files=tuple(self._files))

    def size(self) -> int:
        """About how many bytes it holds."""
        files = len(self._files) + len(self._cleaned) + len(self._changed)
        return _BYTES_A_SPAN * len(self._spans) + _BYTES_A_FILE * files

    def shrink(self) -> None:
        """Lets go of the older half of what it could recognise."""
        halve(self._spans)

    # How text comes in.

    def _comes_in(self, moment: Moment) -> Source | None:
        body, use = moment.body, moment.use
        if isinstance(body, ToolCalled) and use is not None:
            return self._called(use, moment.step)
        if isinstance(body, ToolReturned) and use is not None:
            return self._returned(use, body, moment)
        if not self._earlier:
            return None
        if isinstance(body, TextProduced | UserSaid):
            told = body.text
        elif isinstance(body, MemoryRecorded):
            told = body.content
        else:
            self._tail = ""
            return None
        return self._repeated(told, moment.step)

    def _called(self, use: ToolUse, step: int) -> Source | None:
        # A result that gets lost on its way to us was still read by the agent.
        if use.origin is Origin.SUBAGENT:
            self._subagent = self._subagent or Source(Origin.SUBAGENT, step, _name(use))
            return None
        if use.origin is not None:
            return Source(use.origin, step, _name(use))
        if use.action in _LOOKS:
            for path in _looked_at(use):
                if is_dependency(f"{path}/"):
                    return Source(Origin.DEPENDENCY, step, path[:LONGEST_WHAT])
        return None

    def _returned(self, use: ToolUse, body: ToolReturned, moment: Moment) -> Source | None:
        found = moment.result.found[:MOST_LOOKED_AT] if moment.result is not None else ()
        if use.action is Action.SEARCH_TEXT:
            for path in found:
                if is_dependency(path):
                    return Source(Origin.DEPENDENCY, moment.step, path[:LONGEST_WHAT])
        if not self._earlier or body.outcome is not Outcome.OK:
            return None
        for path in (*use.files, *(found if use.action is Action.SEARCH_TEXT else ())):
            if self._earlier.is_marked(path) and path not in use.changed:
                what = f"{path[:LONGEST_WHAT]} was changed after text from outside had come in"
                return Source(Origin.DERIVED, moment.step, what)
        self._tail = ""
        return self._repeated(body.result, moment.step)

    def _repeated(self, text: str, step: int) -> Source | None:
        whole = self._tail + text
        self._tail = whole[-TAIL:]
        if not repeats(whole, self._earlier):
            return None
        return Source(Origin.DERIVED, step, "text that an earlier session had from outside")

    # What becomes of it.

    def _carry(self, moment: Moment) -> None:
        body, use = moment.body, moment.use
        tainted = self.source is not None or self._inherited is not None
        if isinstance(body, FileChanged) and tainted:
            # It was put in sight when it was noticed, under its name in the project.
            for path in moment.in_sight[:1]:
                self._mark(path)
        if not isinstance(body, ToolReturned) or use is None:
            return
        # What a subagent says is mostly about the project itself.
        if use.origin is not None and use.origin is not Origin.SUBAGENT:
            self._keep(fingerprints(prose(body.result)))
        if body.outcome is Outcome.OK:
            self._change(use, moment, tainted=tainted)

    def _change(self, use: ToolUse, moment: Moment, *, tainted: bool) -> None:
        for path in use.changed:
            _add(self._changed, path, MOST_FILES)
        if not tainted:
            for touch in use.touches:
                if touch.action is Action.WRITE:
                    _add(self._cleaned, touch.path, MOST_FILES)
            return
        written = fingerprints(use.written)
        self._keep(written)
        for touch in use.touches:
            # An edit is known by its words, if it has enough of them; the rest of the file is
            # what it was.
            if touch.action is Action.WRITE or (touch.action is Action.EDIT and not written):
                self._mark(touch.path)
        # Those that no call is known to have changed, so that nobody knows what was written.
        for path in moment.result.changed if moment.result is not None else ():
            if path not in self._changed:
                self._mark(path)

    def _mark(self, path: str) -> None:
        _add(self._files, path, MOST_FILES)

    def _keep(self, spans: Iterable[int]) -> None:
        for each in spans:
            _add(self._spans, each, MOST_SPANS)

    def _is_after(self, signal: Signal, source: Source) -> bool:
        latest = _latest_step(signal)
        if latest != source.step:
            return latest > source.step
        return self._spoken_after or signal.kind not in SAID


def _looked_at(use: ToolUse) -> Iterator[str]:
    yield from use.files[:MOST_LOOKED_AT]
    yield from use.outside[:MOST_LOOKED_AT]
    yield from use.places[:MOST_LOOKED_AT]


def _name(use: ToolUse) -> str:
    return one_line(use.reference or use.command or use.tool)[:LONGEST_WHAT]


def _latest_step(signal: Signal) -> int:
    """The last step it stands on: details that name one end in `_step`, or are `steps`."""
    latest = signal.step
    for name, value in signal.details.items():
        if name.endswith("_step") and isinstance(value, int):
            latest = max(latest, value)
        elif name in _STEPS and isinstance(value, tuple):
            latest = max([latest, *(each for each in value if isinstance(each, int))])
    return latest


def _add(table: dict[Key, None], key: Key, most: int) -> None:
    if key not in table:
        make_room(table, most)
        table[key] = None
