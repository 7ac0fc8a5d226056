"""The agent takes a belief back and says what is so instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

from seamark.events import TextProduced
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.wording import finding_key, one_line, sentences

# Each names an old belief and a new fact, or is an explicit retraction. A bare "wait" or
# "actually" is how models talk and proves nothing.
SHAPES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bI (?:was|had been) wrong (?:about|that|to)\b",
        r"\bI (?:initially|first|originally|wrongly|mistakenly) (?:thought|assumed|believed|"
        r"expected|supposed)\b.{3,200}?\bbut\b",
        r"\bI (?:thought|assumed|believed|expected)\b(?>.{3,200}?\b(?:but|however)\b)"
        r".{0,60}\b(?:actually|really|in fact|instead|turns out)\b",
        r"\bmy (?:assumption|belief|guess|earlier claim)\b.{0,120}\b(?:was|were|is) "
        r"(?:wrong|incorrect|false|mistaken)\b",
        r"^Correction:\s*\S.{10,}",
        r"\bActually,? (?!let\b|I(?:['’](?:ll|d)| (?:will|should|can|could|need|want|might))\b)"
        r".{3,160}?\b(?:not|instead of|rather than)\b .{3,}",
        r"\bit turns out (?:that )?.{5,160}?\b(?:not|instead of|rather than)\b",
    )
)
LONGEST_SENTENCE = 1000
MOST_FOUND = 12
MOST_FILES = 8
# Starts only where a name can start, or a long word would be read again from each of its letters.
_PATH = re.compile(r"(?<![\w./-])[\w./-]{0,200}\w\.[A-Za-z]\w{0,8}\b")


class SelfCorrection:
    """Keeps the sentence that corrects, with the one after it, which often says the fact."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}

    def see(self, moment: Moment) -> None:
        if not isinstance(moment.body, TextProduced):
            return
        spoken = sentences(moment.body.text)
        for index, sentence in enumerate(spoken):
            if len(self._found) >= MOST_FOUND:
                return
            if _corrects(sentence):
                following = (each for each in spoken[index + 1 : index + 2] if _is_short(each))
                self._keep(" ".join((sentence, *following)), moment)

    def signals(self) -> Iterable[Signal]:
        return self._found.values()

    def size(self) -> int:
        return 1000 * len(self._found)

    def shrink(self) -> None:
        """These are what a session is watched for, few, and kept."""

    def _keep(self, passage: str, moment: Moment) -> None:
        content = one_line(passage)
        key = finding_key("self_correction", content)
        if key in self._found:
            return
        self._found[key] = Signal(
            kind=SignalKind.SELF_CORRECTION,
            type=MemoryType.GOTCHA,
            content=content,
            key=key,
            files=_about(content, moment),
            step=moment.step,
            confidence=0.85,
        )


def _corrects(sentence: str) -> bool:
    return _is_short(sentence) and any(shape.search(sentence) for shape in SHAPES)


def _is_short(sentence: str) -> bool:
    return len(sentence) <= LONGEST_SENTENCE


def _about(content: str, moment: Moment) -> tuple[str, ...]:
    """The files of the session that the passage names; without any, the one touched last."""
    named = {match.removeprefix("./") for match in _PATH.findall(content)}
    about = tuple(
        path for path in moment.touched if path in named or path.rsplit("/", 1)[-1] in named
    )
    return about[:MOST_FILES] or moment.in_sight[:1]
