"""The few passages of a session that state how the project really is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.surprise import Surprise
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.cues import Cue, cues_of, worth_of
from seamark_sidecar.observer.text.notes import Note, Statement, compose, files_of
from seamark_sidecar.observer.text.passages import Speaker, Utterance, files_named, words_of
from seamark_sidecar.observer.text.talk import (
    is_deed,
    is_request,
    is_talk,
    leans,
    standing_alone,
    tidy,
)
from seamark_sidecar.observer.text.wording import finding_key, names_in, telling_words

MOST_NOTES = 6
# Sentences weighed with one event: long texts are worked off while other things happen.
AT_ONCE = 8
MOST_STATEMENTS = 240
# After letting go, when there were more.
KEPT_STATEMENTS = 160
MOST_WORDS = 4_000
MOST_FILES = 8
FILES_IN_SIGHT = 4
SHORTEST, LONGEST = 25, 500
# What a statement must be worth more than, in any session, to be kept.
LEAST_KEPT = 1.0
# What makes a statement worth more.
ANCHORED = 1.7
SURPRISING = 0.4
SPEAKERS: Mapping[Speaker, float] = MappingProxyType({
    Speaker.THOUGHT: 1.0,
    Speaker.ANSWER: 1.1,
    Speaker.PERSON: 1.0,
})  # fmt: skip

# What a note becomes, by the cue that its statements have most of; the first of equals.
TYPES: Mapping[Cue, MemoryType] = MappingProxyType({
    Cue.COUPLING: MemoryType.CAUSAL_DEPENDENCY,
    Cue.LOCATION: MemoryType.MODULE_INSIGHT,
    Cue.BEHAVIOUR: MemoryType.MODULE_INSIGHT,
    Cue.REQUIREMENT: MemoryType.REQUIREMENT,
    Cue.UNFINISHED: MemoryType.WORK_STATE,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Heard:
    """A sentence that waits to be weighed."""

    text: str
    words: frozenset[str]
    said: Utterance


class Discovery:
    """Keeps the statements that promise most, and what the session speaks of."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        # In how many utterances a word was said.
        self._mentions: dict[str, int] = {}
        self._waiting: deque[_Heard] = deque()
        self._place = 0
        # What a statement must be worth more than, to be kept.
        self._least = LEAST_KEPT
        self._notes: list[Note] | None = None
        # What the notes were made beside.
        self._told: tuple[str, ...] = ()

    def see(self, moment: Moment) -> None:
        """Works off what was heard, a little with each event."""
        del moment
        if self._waiting:
            self._work(max(AT_ONCE, len(self._waiting) // 8))

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        del surprise
        self._notes = None
        self._waiting.extend(
            _Heard(sentence, spoken, utterance)
            for sentence, spoken in zip(utterance.sentences, utterance.words, strict=True)
            if SHORTEST <= len(sentence) <= LONGEST
        )
        for word in _once(" ".join(utterance.sentences)):
            if word in self._mentions:
                self._mentions[word] += 1
            elif len(self._mentions) < MOST_WORDS:
                self._mentions[word] = 1

    def signals(self) -> Iterable[Signal]:
        return self.beside(())

    def beside(self, others: Iterable[Signal]) -> list[Signal]:
        """What has been found so far and the others do not say."""
        self._work(len(self._waiting))
        told = tuple(other.content for other in others)
        if self._notes is None or told != self._told:
            self._told = told
            words = [frozenset(telling_words(text)) for text in told]
            self._notes = compose(self._statements, self._mentions, MOST_NOTES, words)
        best = max((note.score for note in self._notes), default=1.0)
        return [_signal(note, best) for note in self._notes]

    def size(self) -> int:
        self._work(len(self._waiting))
        return 1500 * len(self._statements) + 100 * len(self._mentions)

    def shrink(self) -> None:
        self._work(len(self._waiting))
        self._notes = None
        self._let_go(len(self._statements) // 2)

    def _work(self, most: int) -> None:
        """Weighs what was heard, in its order, so that it does not matter how much at a time."""
        for _ in range(min(most, len(self._waiting))):
            self._weigh(self._waiting.popleft())

    def _weigh(self, heard: _Heard) -> None:
        self._place += 1
        said, words = heard.said, heard.words
        cues = cues_of(words)
        worth = worth_of(words, cues) * SPEAKERS[said.speaker] * (1 + SURPRISING * said.surprise)
        # Whatever it names, it could not stay.
        if worth * ANCHORED <= self._least:
            return
        text = tidy(heard.text)
        if text != heard.text:
            words = words_of(text)
        if is_talk(text, words):
            return
        if said.speaker is Speaker.PERSON and is_request(text, words):
            return
        names, files = names_in(text), files_named(text, said.in_sight)
        if not (names or files or said.in_sight):
            return
        self._notes = None
        self._statements.append(
            Statement(
                text=text,
                words=_once(text),
                worth=worth * (ANCHORED if names or files else 1.0),
                cues=cues,
                step=said.step,
                utterance=said.number,
                place=self._place,
                files=files,
                in_sight=said.in_sight[:FILES_IN_SIGHT],
                names=names,
                surprise=said.surprise,
                is_leaning=leans(standing_alone(text)),
                is_deed=is_deed(text),
            )
        )
        if len(self._statements) > MOST_STATEMENTS:
            self._let_go(KEPT_STATEMENTS)

    def _let_go(self, most: int) -> None:
        best = sorted(self._statements, key=lambda each: -each.worth)[:most]
        self._least = max(LEAST_KEPT, best[-1].worth) if best else LEAST_KEPT
        self._statements = sorted(best, key=lambda each: each.place)


def _once(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(telling_words(text)))


def _signal(note: Note, best: float) -> Signal:
    text = note.text
    return Signal(
        kind=SignalKind.DISCOVERY,
        type=_type(note),
        content=text,
        key=finding_key("discovery", text),
        files=files_of(note, MOST_FILES),
        step=note.seed.step,
        confidence=0.7,
        surprise=note.score / best,
        details={
            "steps": tuple(dict.fromkeys(each.step for each in note.statements)),
            "symbols": tuple(dict.fromkeys(n for each in note.statements for n in each.names))[:12],
            "cues": tuple(dict.fromkeys(str(cue) for each in note.statements for cue in each.cues)),
        },
    )


def _type(note: Note) -> MemoryType:
    counts: dict[Cue, int] = {}
    for each in note.statements:
        for cue in each.cues:
            counts[cue] = counts.get(cue, 0) + 1
    most = max(counts.values(), default=0)
    return next((TYPES[cue] for cue in TYPES if counts.get(cue, 0) == most > 0), MemoryType.GOTCHA)
