"""Short notes made of the most telling statements of a session, one for each subject."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seamark_sidecar.observer.behaviour.file_roles import looks_like_scratch
from seamark_sidecar.observer.calls.paths import is_dependency
from seamark_sidecar.observer.text.common_words import COMMON
from seamark_sidecar.observer.text.cues import Cue
from seamark_sidecar.observer.text.talk import closed, standing_alone
from seamark_sidecar.observer.text.wording import telling_words

LONGEST_NOTE = 600
MOST_SENTENCES = 6
# What a statement must be worth for a note to grow from it.
LEAST_WORTH = 3.0
# What a common word tells, beside one that is not.
COMMON_WEIGHT = 0.15
# What a word still tells in a further note.
TOLD_BEFORE = 0.75
# The share of a statement's telling words in one text at which that text says it all.
SAID_ALREADY = 0.8
# The least share of its telling words that the note must know already, and must not know.
COHERENCE = 0.2
COHERENCE_NEXT = 0.05
FRESH = 0.2
# What was said right before or after reads on.
NEXT = 1.2
# Places within which it was.
NEAR = 4
# One that needs what was said before it, which is not there.
LOST = 0.5
# Longer statements say more; this many characters are the price of any.
PRICE = 50
PRICE_POWER = 0.5

# Where no project lies, as a path looks without its first slash.
_OUTSIDE = ("usr/", "opt/", "home/", "Users/", "root/", "tmp/", "var/", "etc/", "/", "~", "..")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence that promises to say something."""

    text: str
    # Each telling word once.
    words: tuple[str, ...]
    # What it is worth, by its cues, its anchors and the surprise it came with.
    worth: float
    cues: tuple[Cue, ...]
    step: int
    utterance: int
    # Its place in the session.
    place: int
    files: tuple[str, ...] = ()
    in_sight: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    surprise: float = 0.0
    # It speaks of what was said before it.
    is_leaning: bool = False
    # It says what was done, which may go with what holds, and alone says little.
    is_deed: bool = False

    def is_near(self, other: Statement) -> bool:
        """Whether both were said in one breath."""
        return self.utterance == other.utterance and abs(self.place - other.place) <= NEAR

    def follows(self, other: Statement) -> bool:
        """Whether it was said right after the other."""
        return self.utterance == other.utterance and self.place == other.place + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Statements about one subject, in the order in which they were made."""

    statements: tuple[Statement, ...]
    # The one it grew from.
    seed: Statement
    score: float

    @property
    def text(self) -> str:
        """All of it, in one line."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        before: Statement | None = None
        for each in self.statements:
            is_tied = before is not None and each.follows(before)
            yield closed(each.text if is_tied else standing_alone(each.text))
            before = each


def compose(
    statements: Sequence[Statement],
    mentions: Mapping[str, int],
    most: int,
    told: Sequence[Collection[str]] = (),
) -> list[Note]:
    """The best notes, best first.

    Args:
        statements: In the order of their places.
        mentions: In how many utterances of the session each word was said: what a session
            comes back to is what it is about.
        told: The telling words of what is said elsewhere, and not said again.
    """
    return _Composer(statements, mentions).notes(most, told)


class _Composer:
    def __init__(self, statements: Sequence[Statement], mentions: Mapping[str, int]) -> None:
        self._statements = statements
        self._weights = [
            {word: _weight(word, mentions) for word in statement.words} for statement in statements
        ]
        self._prices = [math.pow(len(each.text) + PRICE, PRICE_POWER) for each in statements]
        # What a word still tells.
        self._fresh: dict[str, float] = {}
        self._left = dict.fromkeys(range(len(statements)))

    def notes(self, most: int, told: Sequence[Collection[str]]) -> list[Note]:
        for text in told:
            self._leave_out(text)
        notes: list[Note] = []
        while len(notes) < most:
            gains = {each: self._gain(each) for each in self._left if self._may_begin(each)}
            if not gains:
                break
            seed = max(gains, key=gains.__getitem__)
            chosen = self._grown(seed)
            known = {word: None for each in chosen for word in self._weights[each]}
            for each in chosen:
                self._left.pop(each, None)
            for word in known:
                self._fresh[word] = self._fresh.get(word, 1.0) * TOLD_BEFORE
            self._leave_out(known)
            notes.append(
                Note(
                    statements=tuple(self._statements[each] for each in sorted(chosen)),
                    seed=self._statements[seed],
                    score=gains[seed],
                )
            )
        return notes

    def _leave_out(self, known: Collection[str]) -> None:
        for each in [each for each in self._left if self._is_told(each, known)]:
            del self._left[each]

    def _is_told(self, each: int, known: Collection[str]) -> bool:
        words = self._statements[each].words
        return sum(word in known for word in words) >= SAID_ALREADY * len(words)

    def _may_begin(self, each: int) -> bool:
        statement = self._statements[each]
        if statement.is_deed or statement.worth < LEAST_WORTH:
            return False
        return bool(statement.names or statement.files)

    def _gain(self, each: int) -> float:
        statement = self._statements[each]
        telling = sum(
            weight * self._fresh.get(word, 1.0) for word, weight in self._weights[each].items()
        )
        gain = telling * statement.worth / self._prices[each]
        return gain * LOST if statement.is_leaning and self._before(each) < 0 else gain

    def _before(self, each: int) -> int:
        """The statement right before it, if it is left; -1: it is not."""
        before = each - 1
        if before not in self._left or self._statements[before].is_deed:
            return -1
        return before if self._statements[each].follows(self._statements[before]) else -1

    def _grown(self, seed: int) -> list[int]:
        """The seed with what goes best with it, as long as there is room."""
        chosen = [seed]
        room = LONGEST_NOTE - len(self._statements[seed].text)
        first = seed
        while self._statements[first].is_leaning and len(chosen) < MOST_SENTENCES:
            first = self._before(first)
            if first < 0 or len(self._statements[first].text) + 2 > room:
                break
            chosen.append(first)
            room -= len(self._statements[first].text) + 2
        known = {word: None for each in chosen for word in self._weights[each]}
        anchors = self._anchors(seed)
        while len(chosen) < MOST_SENTENCES:
            best, best_gain = -1, 0.0
            for each in self._left:
                if each in chosen or len(self._statements[each].text) + 2 > room:
                    continue
                gain = self._gain_beside(each, chosen, known, anchors)
                if gain > best_gain:
                    best, best_gain = each, gain
            if best < 0:
                break
            chosen.append(best)
            room -= len(self._statements[best].text) + 2
            known.update(dict.fromkeys(self._weights[best]))
        return chosen

    def _anchors(self, each: int) -> dict[str, None]:
        """The words of the names that the statement is about."""
        statement = self._statements[each]
        named = " ".join((*statement.files, *statement.names))
        return {word: None for word in telling_words(named) if word not in COMMON}

    def _gain_beside(
        self,
        each: int,
        chosen: Sequence[int],
        known: Mapping[str, None],
        anchors: Mapping[str, None],
    ) -> float:
        """What the statement adds to a note; 0: it does not go with it."""
        statement = self._statements[each]
        is_near = any(statement.is_near(self._statements[other]) for other in chosen)
        if not is_near and (statement.is_leaning or anchors.keys().isdisjoint(statement.words)):
            return 0.0
        shared = fresh = total = 0.0
        for word, weight in self._weights[each].items():
            total += weight
            if word in known:
                shared += weight
            else:
                fresh += weight * self._fresh.get(word, 1.0)
        if not total or fresh < FRESH * total:
            return 0.0
        coherence = shared / total
        if coherence < (COHERENCE_NEXT if is_near else COHERENCE):
            return 0.0
        gain = fresh * statement.worth * (0.3 + coherence) / self._prices[each]
        return gain * NEXT if is_near else gain


def _weight(word: str, mentions: Mapping[str, int]) -> float:
    said = math.log1p(mentions.get(word, 1))
    return COMMON_WEIGHT * said if word in COMMON else said


def files_of(note: Note, most: int) -> tuple[str, ...]:
    """The files that it names, then those in sight when it was said.

    What lies outside the project and what the agent made for itself is left out, unless there is
    nothing else.
    """
    named = dict.fromkeys(path for each in note.statements for path in each.files)
    found = tuple(named | dict.fromkeys(_seen(note)))
    return tuple(filter(_is_of_the_project, found))[:most] or found[:1]


def _is_of_the_project(path: str) -> bool:
    return not (path.startswith(_OUTSIDE) or is_dependency(path) or looks_like_scratch(path))


def _seen(note: Note) -> Iterator[str]:
    yield from note.seed.in_sight
    for each in note.statements:
        yield from each.in_sight
