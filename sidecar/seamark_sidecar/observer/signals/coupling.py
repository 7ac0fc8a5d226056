"""Couplings said in words: who changes one thing must change another."""

from __future__ import annotations

import re
from collections.abc import Iterable

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.surprise import Surprise
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.passages import LONGEST_SENTENCE, Utterance, files_about
from seamark_sidecar.observer.text.wording import finding_key, names_in, paths_in

MOST_FOUND = 12
LEAST_ANCHORS = 2

_CHANGE = r"(?:change|touch|edit|update|modify|rename|add|remove)"
_MUST = r"(?:must|has to|have to|needs? to)"
SHAPES = re.compile(
    rf"\b(?:whenever|every time|each time|any time) (?:you|we|I|someone|"
    rf"one) (?:ever )?{_CHANGE}\b"
    rf".{{3,160}}?\b(?:{_MUST}|need|should|also)\b"
    rf"|\b(?:if|when) (?:you|someone|one) (?:ever )?{_CHANGE}\b.{{3,160}}?\b{_MUST}\b"
    r"|\b(?:kept?|keep|stay|be|keeps) (?:them )?in (?:sync|step|lockstep)\b"
    rf"|\b{_MUST} (?:also )?(?:be )?(?:changed?|updated?|edited|renamed|mirrored?) "
    r"(?:too|as well|together|in both|in all|accordingly|at the same time)\b"
    r"|\bchang(?:es?|ing) (?:to |in |of )?.{3,80}? (?:also )?"
    r"(?:requires? (?:also )?(?:changing|updating|a change)|must be (?:made|mirrored|"
    r"repeated) in)\b"
    rf"|\b{_MUST} be (?:made|done|applied|added|registered|set|threaded|passed) "
    r"in (?:both|all (?:of|three|four|the))\b",
    re.IGNORECASE,
)
_HINTS = frozenset("sync step lockstep must needs need has have requires require".split())
_NOT_YET = re.compile(
    r"^(?:let me|I(?:['’]ll| will| need| should| have|['’]ve)|now |so )|\b(?:maybe|might|"
    r"extracted)\b|\?$",
    re.IGNORECASE,
)


class Coupling:
    """Keeps the sentence when it names at least two things."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}

    def see(self, moment: Moment) -> None:
        """Only what is said matters."""

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        del surprise
        if len(self._found) >= MOST_FOUND:
            return
        for sentence, words in zip(utterance.sentences, utterance.words, strict=True):
            if not words.isdisjoint(_HINTS) and couples(sentence):
                self._keep(sentence, utterance)

    def signals(self) -> Iterable[Signal]:
        return self._found.values()

    def size(self) -> int:
        return 1500 * len(self._found)

    def shrink(self) -> None:
        """They are few, and kept."""

    def _keep(self, sentence: str, utterance: Utterance) -> None:
        key = finding_key("coupling", sentence)
        if key in self._found:
            return
        self._found[key] = Signal(
            kind=SignalKind.COUPLING,
            type=MemoryType.CAUSAL_DEPENDENCY,
            content=sentence,
            key=key,
            files=files_about(sentence, utterance.in_sight),
            step=utterance.step,
            confidence=0.7,
            surprise=utterance.surprise,
            details={"things": _anchors(sentence)[:6]},
        )


def couples(sentence: str) -> bool:
    """Whether it says of two things by name that they change together."""
    if len(sentence) > LONGEST_SENTENCE or _NOT_YET.search(sentence) or not SHAPES.search(sentence):
        return False
    return len(_anchors(sentence)) >= LEAST_ANCHORS


def _anchors(sentence: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*paths_in(sentence), *names_in(sentence))))
