"""What was said, in sentences, however it was cut into pieces on its way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from seamark.events import StepCompleted, TextKind, TextProduced, ToolCalled, UserSaid
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import one_line, paths_in

# Of one utterance; what comes after it is not looked at.
LONGEST_UTTERANCE = 24_000
LONGEST_SENTENCE = 1_000
MOST_SENTENCES = 120
MOST_FILES = 8
# Characters of a line that is not worth splitting, and of a mere call such as "Wait."
SHORTEST_SPLIT = 40
LONGEST_CALL = 10
# Begins with what it is found by: a look behind would be tried at every character.
_SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z`\"'(*\[])")
_FENCE = "```"
_BULLET = re.compile(r"(?:[-*•>#]{1,6}|\d{1,3}[.)])\s+")
# What stands between words becomes a space, and capitals small ones.
_LETTERS = bytes(
    ord(chr(code).lower())
    if chr(code).isascii() and chr(code).isalpha()
    else code
    if code == ord("'")
    else ord(" ")
    for code in range(256)
)


class Speaker(Enum):
    """Who said it, and to whom."""

    THOUGHT = "thought"
    ANSWER = "answer"
    PERSON = "person"


_SPEAKERS = {TextKind.REASONING: Speaker.THOUGHT, TextKind.ANSWER: Speaker.ANSWER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What was said at one go."""

    speaker: Speaker
    # Counts the utterances of the session.
    number: int
    step: int
    sentences: tuple[str, ...]
    # The words of each sentence in lower case: what a listener looks for first, being cheap.
    words: tuple[frozenset[str], ...] = ()
    # The files that were in sight, newest first.
    in_sight: tuple[str, ...] = ()
    # How much what had just happened contradicted expectations, from 0 to 1.
    surprise: float = 0.0


@dataclass(slots=True)
class _Pending:
    kind: TextKind
    moment: Moment
    surprise: float
    pieces: list[str]
    length: int


class Speech:
    """Puts pieces of text together until something else happens.

    Adapters report whole messages or pieces of a stream; both give the same utterances.
    """

    def __init__(self) -> None:
        self._pending: _Pending | None = None
        self._count = 0

    def take(self, moment: Moment, surprise: float) -> tuple[Utterance, ...]:
        """Takes the moment in; returns what is complete now."""
        body = moment.body
        if isinstance(body, TextProduced):
            pending = self._pending
            done = () if pending is None or pending.kind is body.kind else self._complete()
            self._append(body, moment, surprise)
            return done
        if isinstance(body, UserSaid):
            return (*self._complete(), self._said(body.text, Speaker.PERSON, moment, surprise))
        if isinstance(body, StepCompleted | ToolCalled):
            return self._complete()
        return ()

    def rest(self) -> Utterance | None:
        """What is not complete yet, as if it were."""
        pending = self._pending
        if pending is None:
            return None
        return _utterance(
            "".join(pending.pieces),
            _SPEAKERS[pending.kind],
            self._count + 1,
            pending.moment,
            pending.surprise,
        )

    def size(self) -> int:
        """About how many bytes it holds."""
        return 2 * self._pending.length if self._pending else 0

    def _append(self, body: TextProduced, moment: Moment, surprise: float) -> None:
        if self._pending is None:
            self._pending = _Pending(body.kind, moment, surprise, [], 0)
        room = LONGEST_UTTERANCE - self._pending.length
        if room > 0:
            piece = body.text[:room]
            self._pending.pieces.append(piece)
            self._pending.length += len(piece)

    def _complete(self) -> tuple[Utterance, ...]:
        done = self.rest()
        if done is None:
            return ()
        self._pending = None
        self._count += 1
        return (done,)

    def _said(self, text: str, speaker: Speaker, moment: Moment, surprise: float) -> Utterance:
        self._count += 1
        return _utterance(text[:LONGEST_UTTERANCE], speaker, self._count, moment, surprise)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of the text, line by line, without quoted code and marks of lists."""
    found: list[str] = []
    is_code = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(_FENCE):
            # A fence that is opened and closed on one line quotes only itself.
            is_code ^= line.count(_FENCE) == 1
        elif line and not is_code:
            bullet = _BULLET.match(line)
            found.extend(_parts(line[bullet.end() :] if bullet else line))
            if len(found) >= MOST_SENTENCES:
                break
    return tuple(found[:MOST_SENTENCES])


def words_of(sentence: str) -> frozenset[str]:
    """The words of the sentence in lower case, with plain apostrophes."""
    plain = sentence if sentence.isascii() else sentence.replace("’", "'")
    spaced = plain.encode("ascii", "replace").translate(_LETTERS).decode("ascii")
    words = spaced.split()
    if " '" in spaced or spaced[:1] == "'":
        # An opening quotation mark is no part of its word.
        return frozenset(bare for word in words if (bare := word.lstrip("'")))
    return frozenset(words)


def _parts(line: str) -> list[str]:
    if len(line) <= SHORTEST_SPLIT:
        return [line]
    # Nothing but single spaces sets its words apart, so that its parts are lines as they are.
    is_tidy = "  " not in line and line.isprintable()
    found: list[str] = []
    call = ""
    start = 0
    for end in (*_SENTENCE_END.finditer(line), None):
        part = line[start:] if end is None else line[start : end.start() + 1]
        start = len(line) if end is None else end.end()
        # "Aha!" belongs to what it is said of.
        if len(part) <= LONGEST_CALL and not call:
            call = part
        elif part:
            whole = f"{call} {part}" if call else part
            found.append(whole if is_tidy else one_line(whole))
            call = ""
    if call:
        found.append(call)
    return found


def files_about(text: str, in_sight: tuple[str, ...]) -> tuple[str, ...]:
    """The files that a passage names; without any, the one touched last."""
    return files_named(text, in_sight)[:MOST_FILES] or in_sight[:1]


def files_named(text: str, in_sight: tuple[str, ...]) -> tuple[str, ...]:
    """The files that a passage names.

    A name without its directories is that of the file in sight which ends in it.
    """
    return tuple(dict.fromkeys(_in_sight(path, in_sight) for path in paths_in(text)))


def _in_sight(path: str, in_sight: tuple[str, ...]) -> str:
    for each in in_sight:
        if each == path or each.endswith("/" + path) or path.endswith("/" + each):
            return each
    return path


def _utterance(
    text: str, speaker: Speaker, number: int, moment: Moment, surprise: float
) -> Utterance:
    spoken = sentences(text)
    return Utterance(
        speaker=speaker,
        number=number,
        step=moment.step,
        sentences=spoken,
        words=tuple(map(words_of, spoken)),
        in_sight=moment.in_sight,
        surprise=surprise,
    )
