"""The agent takes a belief back and says what is so instead."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Detail, Signal, SignalKind
from seamark_sidecar.observer.behaviour.surprise import Cause, Surprise
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.corrections import HINTS, Shape, shape_in
from seamark_sidecar.observer.text.passages import (
    LONGEST_SENTENCE,
    Speaker,
    Utterance,
    files_about,
)
from seamark_sidecar.observer.text.wording import (
    finding_key,
    names_in,
    one_line,
    paths_in,
)

MOST_FOUND = 30
SHORTEST_SENTENCE = 12
# Utterances.
MOST_LATELY = 12
# Of the words before and after the turn; a passage that corrects needs both to be of use.
LONGEST_CONTENT = 600
# Plans and questions correct nothing, whatever words they use.
_PLAN = re.compile(
    r"^(?:(?:so|now|ok|okay|but|then|first|next|also)[, ]+)?(?:let(?:['’]s| me)|I(?:['’]ll|"
    r" will| "
    r"should| need to| want to| can| could|['’]m going to)|we (?:should|need to|can))\b",
    re.IGNORECASE,
)
# Who is not sure has not corrected anything yet.
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|might|may have|probably|possibly|likely|or something|I think|"
    r"could be|it seems|if (?:I|my|the|it|we)|usually|whether|in case|or I)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"\bwhat (?:happened|went wrong)\b", re.IGNORECASE)
_EXPLAINS = re.compile(r"\bexplains why\b", re.IGNORECASE)
_PLAIN = re.compile(r"\b(?:mistake|wrong)\b", re.IGNORECASE)
# Who wavers in the next breath has not made up their mind.
_WAVERS = re.compile(
    r"(?:wait|or|maybe|perhaps|no|but wait|actually,? wait|it seems|hmm)\b", re.IGNORECASE
)
_OURS = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b|\b(?:we|I)['’]re\b")
# What somebody else said, word for word.
_QUOTED = re.compile(r"\"[^\"]{3,300}\"")
_UNEXPECTED = re.compile(r"\bI(?: had|['’]d)? (?:thought|expected|assumed)", re.IGNORECASE)
# These only announce the fact, which follows.
_ANNOUNCES = frozenset({Shape.DIAGNOSIS, Shape.CONCESSION})
# Agreeing is polite; a correction admits that something was wrong.
_ADMISSION = re.compile(
    r"\bI(?:['’]ve been| (?:was|had|conflated|contradicted|missed|duplicated|broke|labell?ed|put|"
    r"mis\w{3,}|over\w{3,}ed))\b|\b(?:sorry|apologi[sz]e|wrong|mistake)\b|\b(?:do|is|are)n['’]t "
    r"(?:really|helping)\b|\bnot (?:okay|being)\b|"
    r"\bthe (?:bug|problem|issue) is\b.{3,120}(?:\bnot\b|n['’]t\b|\bnever\b)",
    re.IGNORECASE,
)
CONFIDENCE: Mapping[Shape, float] = MappingProxyType({
    Shape.RETRACTION: 0.9,
    Shape.CONTRAST: 0.88,
    Shape.OWN_FAULT: 0.86,
    Shape.REALISATION: 0.8,
    Shape.DIAGNOSIS: 0.78,
    Shape.CONCESSION: 0.75,
})  # fmt: skip


# What the correction is about, by the words it uses; the first that fits.
TYPES: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("config", r"\b(?:config\w*|settings?|environment variable|env var|flag|option|default)\b"),
        ("path", r"\b(?:path|directory|folder|located|lives in|defined in|wrong file|file name)\b"),
        (
            "api",
            r"\b(?:api|signature|argument|parameter|method|returns?|attribute|field|import\w*)\b",
        ),
        ("approach", r"\b(?:approach|strategy|fix|solution|design|instead of|rather than)\b"),
    )
)
LONGEST_SIDE = 300
_TURNS = (
    re.compile(r",? (?:but|however)\b", re.IGNORECASE),
    re.compile(r",? (?P<belief>not|rather than|instead of) (?!just|only)", re.IGNORECASE),
)


class SelfCorrection:
    """Keeps, for a step, the sentence that corrects with those beside it that say the fact."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}
        self._last_step = -1
        # What was said before, which may be what is corrected now.
        self._lately: deque[tuple[str, ...]] = deque(maxlen=MOST_LATELY)

    def see(self, moment: Moment) -> None:
        """Only what is said matters."""

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        if utterance.speaker is Speaker.PERSON or utterance.step == self._last_step:
            return
        if len(self._found) >= MOST_FOUND:
            return
        best: tuple[float, int, Shape] | None = None
        for index, sentence in enumerate(utterance.sentences):
            shape = shape_of(sentence, utterance.words[index])
            if shape is None or not self._is_grounded(shape, utterance, index, surprise):
                continue
            if best is None or CONFIDENCE[shape] > best[0]:
                best = CONFIDENCE[shape], index, shape
        if best is not None:
            self._keep(utterance, best[1], best[2])
        self._lately.append(utterance.sentences)

    def signals(self) -> Iterable[Signal]:
        return self._found.values()

    def size(self) -> int:
        lately = sum(len(sentence) for each in self._lately for sentence in each)
        return 2000 * len(self._found) + 2 * lately

    def shrink(self) -> None:
        """These are what a session is watched for, few, and kept."""

    def _keep(self, utterance: Utterance, index: int, shape: Shape) -> None:
        content = passage(utterance.sentences, index, shape)
        key = finding_key("self_correction", content)
        if key in self._found:
            return
        self._last_step = utterance.step
        files = files_about(content, utterance.in_sight)
        self._found[key] = Signal(
            kind=SignalKind.SELF_CORRECTION,
            type=MemoryType.GOTCHA,
            content=content,
            key=key,
            files=files,
            step=utterance.step,
            confidence=CONFIDENCE[shape],
            surprise=max(0.5, utterance.surprise),
            early=True,
            details=_details(content, utterance.sentences[index], shape, files),
        )

    def _is_grounded(
        self, shape: Shape, utterance: Utterance, index: int, surprise: Surprise
    ) -> bool:
        """Whether the weaker shapes meet a belief that failed."""
        step = utterance.step
        said = passage(utterance.sentences, index, shape)
        fact = said[len(utterance.sentences[index]) :] or said.partition(" ")[2]
        following = utterance.sentences[index + 1 : index + 2]
        is_plain = bool(_PLAIN.search(utterance.sentences[index]))
        if following and not is_plain and _WAVERS.match(following[0]):
            return False
        match shape:
            case Shape.REALISATION:
                earlier = [*utterance.sentences[:index], *itertools.chain(*self._lately)]
                names = names_in(said)
                return any(name in sentence for sentence in earlier for name in names)
            case Shape.DIAGNOSIS:
                return (
                    surprise.has_edited
                    and bool(names_in(said) or paths_in(said))
                    and bool(_OURS.search(fact))
                    and "wait" not in said.lower().split()
                    and (
                        surprise.lately(Cause.FAILURE, step)
                        or surprise.lately(Cause.PERSON, step, 2)
                    )
                )
            case Shape.CONCESSION:
                return surprise.lately(Cause.PERSON, step, 2) and bool(_ADMISSION.search(fact))
            case Shape.OWN_FAULT:
                if _ANNOUNCED.search(utterance.sentences[index]):
                    is_said = not fact.endswith((":", "?")) and not _HEDGE.search(fact)
                    return is_said and bool(_OURS.search(fact))
                if _EXPLAINS.search(said) and not surprise.has_edited:
                    return False
                return bool(names_in(said) or paths_in(said)) or len(said) > 80
        return True


def shape_of(sentence: str, words: frozenset[str]) -> Shape | None:
    """How the sentence corrects; None when it does not."""
    if not SHORTEST_SENTENCE <= len(sentence) <= LONGEST_SENTENCE or words.isdisjoint(HINTS):
        return None
    if sentence.endswith("?") or _PLAN.match(sentence):
        return None
    own = _QUOTED.sub("…", sentence) if '"' in sentence else sentence
    shape = shape_in(own, words)
    if shape is None or (_HEDGE.search(sentence) and not _UNEXPECTED.search(sentence)):
        return None
    return shape


def passage(spoken: Sequence[str], index: int, shape: Shape) -> str:
    """The sentence with the next one, or few when it only announces the fact."""
    most = 3 if shape in _ANNOUNCES else 1
    content = spoken[index]
    for following in spoken[index + 1 : index + 1 + most]:
        if len(content) + len(following) >= LONGEST_CONTENT or _PLAN.match(following):
            break
        content = f"{content} {following}"
    return one_line(content)


def _details(content: str, sentence: str, shape: Shape, files: Sequence[str]) -> dict[str, Detail]:
    assumption, fact = _sides(content, sentence)
    return {
        "shape": shape.value,
        "correction_type": next(
            (kind for kind, pattern in TYPES if pattern.search(content)), "factual"
        ),
        "corrected_assumption": assumption[:LONGEST_SIDE],
        "actual_fact": fact[:LONGEST_SIDE],
        "related_file": files[0] if files else "",
    }


def _sides(content: str, sentence: str) -> tuple[str, str]:
    """What was believed and what is so, as far as the words tell them apart."""
    for turn in _TURNS:
        before, found, after = _cut(sentence, turn)
        if found:
            return before, (after + content[len(sentence) :]).strip()
    # It takes back in one sentence, and says what is so in the next.
    rest = content[len(sentence) :].strip()
    return (sentence, rest) if rest else ("", sentence)


def _cut(sentence: str, turn: re.Pattern[str]) -> tuple[str, str, str]:
    match = turn.search(sentence)
    if match is None:
        return sentence, "", ""
    if match.lastgroup == "belief":
        # "..., not X": the belief comes last.
        belief = sentence[match.end() :]
        return belief.strip(" .,"), match.group(), sentence[: match.start()].strip(" ,")
    return sentence[: match.start()].strip(" ,"), match.group(), sentence[match.end() :].strip(" ,")
