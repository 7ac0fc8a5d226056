"""What a person tells the agent to remember, or tells it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from seamark.events import UserSaid
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.surprise import Surprise
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.passages import Speaker, Utterance, files_about
from seamark_sidecar.observer.text.wording import finding_key, one_line

MOST_FOUND = 40
LONGEST_CONTENT = 600
# Longer messages hand over work or paste text; what corrects is short.
LONGEST_CORRECTION = 1_500
COMMAND = "/remember"

# What begins a correction, after politeness.
_BEGINS = re.compile(
    r"^\W*(?:(?:hey|hi|ok|okay|well|hmm|um|so|and|but|wait|sorry|please|also|yeah|"
    r"yes)\b[,.! ]{1,3}){0,3}"
    r"(?:no\b(?! (?:problem|worries|need|rush|issues?))|nope\b|not (?:quite|really|what|like|"
    r"that|there|in|the)\b|"
    r"don['’]t\b|do not\b|stop\b|never\b|actually\b|instead\b|rather\b|wrong\b|incorrect\b|"
    r"undo\b|revert\b|"
    r"that['’]?s (?:not|wrong|incorrect)\b|that is (?:not|wrong)\b|this is (?:not|wrong)\b|"
    r"it(?:['’]s| is) (?:not|still)\b|it (?:still|doesn['’]t|does not|didn['’]t)\b|still\b|"
    r"you (?:forgot|missed|should(?:n['’]t)?|didn['’]t|don['’]t|broke|removed|deleted|"
    r"are wrong|need to|can['’]t|keep)\b|"
    r"why (?:did|do|are|would|is|does|don['’]t|didn['’]t|not|aren['’]t)(?: you| we| it| this)?\b|"
    r"I (?:don['’]t (?:want|like|think|see)|didn['’]t (?:ask|mean|say)|said|meant|told you|"
    r"asked|would (?:rather|prefer)|"
    r"want(?:ed)? (?:it|you|the|this|them) (?:to|not)|prefer)\b|"
    r"(?:use|prefer|let['’]s (?:not|use|keep)|make sure|keep)\b.{3,}\b(?:instead|rather|not|"
    r"only)\b)",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"\b(?:instead of|rather than|should (?:not|n['’]t|only|be|have)|shouldn['’]t|must not|"
    r"is (?:still )?(?:failing|broken|wrong)|"
    r"doesn['’]t work|does not work|still (?:fails?|failing|shows?|not|broken)|you (?:forgot|"
    r"missed)|not what I)\b",
    re.IGNORECASE,
)
# Text that a program put into a person's mouth.
_BY_PROGRAM = re.compile(
    r"^\s*(?:<|\[Request interrupted|Caveat:|This session is being continued|\[Image|# |"
    r"Base directory)"
)

TYPES: Mapping[str, MemoryType] = MappingProxyType({
    "must": MemoryType.REQUIREMENT,
    "required": MemoryType.REQUIREMENT,
    "always": MemoryType.PREFERENCE,
    "never": MemoryType.PREFERENCE,
    "prefer": MemoryType.PREFERENCE,
    "don't": MemoryType.PREFERENCE,
    "use": MemoryType.PREFERENCE,
    "decided": MemoryType.DECISION,
})  # fmt: skip


class Person:
    """Keeps both kinds, each message once."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}
        self._has_acted = False

    def see(self, moment: Moment) -> None:
        if not isinstance(moment.body, UserSaid):
            # Who has done nothing yet cannot be corrected.
            self._has_acted = True

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        del surprise
        if utterance.speaker is not Speaker.PERSON or len(self._found) >= MOST_FOUND:
            return
        text = " ".join(utterance.sentences)
        if text.startswith(COMMAND) and not text[len(COMMAND) : len(COMMAND) + 1].strip(" :"):
            self._remember(text[len(COMMAND) :].strip(" :"), utterance)
        elif self._has_acted and corrects(text):
            self._correct(text, utterance)

    def signals(self) -> Iterable[Signal]:
        return self._found.values()

    def size(self) -> int:
        return 1500 * len(self._found)

    def shrink(self) -> None:
        """They are few, and a person said them."""

    def _remember(self, text: str, utterance: Utterance) -> None:
        content = one_line(text)[:LONGEST_CONTENT]
        if content:
            self._keep(SignalKind.REMEMBER, content, utterance, 1.0, Source.AGENT_EXPLICIT)

    def _correct(self, text: str, utterance: Utterance) -> None:
        content = one_line(text)[:LONGEST_CONTENT]
        self._keep(SignalKind.USER_CORRECTION, content, utterance, 0.7, Source.OBSERVER_INFERRED)

    def _keep(
        self,
        kind: SignalKind,
        content: str,
        utterance: Utterance,
        confidence: float,
        source: Source,
    ) -> None:
        key = finding_key(kind, content)
        self._found.setdefault(
            key,
            Signal(
                kind=kind,
                type=type_of(content),
                content=content,
                key=key,
                files=files_about(content, utterance.in_sight),
                step=utterance.step,
                confidence=confidence,
                source=source,
                # What a person said in passing is looked at by one before it is used.
                needs_review=kind is SignalKind.USER_CORRECTION,
                surprise=0.6,
            ),
        )


def corrects(text: str) -> bool:
    """Whether a message takes back or forbids something rather than asks for more."""
    if not 2 <= len(text) <= LONGEST_CORRECTION or _BY_PROGRAM.match(text):
        return False
    return bool(_BEGINS.match(text)) or (len(text) <= 400 and bool(_INSIDE.search(text)))


def type_of(content: str) -> MemoryType:
    """What the words make of it; a decision when they do not say."""
    words = content.lower().split()
    return next((TYPES[word] for word in words if word in TYPES), MemoryType.DECISION)
