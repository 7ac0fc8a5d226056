"""How agents put it when they take something back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_OWN_WORK = (
    r"(?:previous |earlier |initial |first |last |original |new |own )?"
    r"(?:assumption|belief|guess|understanding|claim|theory|hypothesis|reasoning|analysis|"
    r"approach|attempt|change|changes|edit|edits|fix|patch|implementation|code|handler|function|"
    r"helper|logic|regex|pattern|script|command|test|tests|test case|reproduction|mock|query|"
    r"condition|check)"
)
_DONE_WRONG = (
    r"(?:forgot|missed (?:this|that|one|another|an?|updating|adding)\b|"
    r"overlooked|neglected|misread|misunderstood|misremembered|misinterpreted|"
    r"misspoke|misjudged|confused|broke|overwrote|clobbered|mistyped)"
)


# Words of which one is in every sentence that `_DONE_WRONG` or a like adverb is in.
_SLIPS = (
    "accidentally mistakenly inadvertently forgot missed overlooked neglected misread "
    "misunderstood misremembered misinterpreted misspoke misjudged confused broke overwrote "
    "clobbered mistyped"
)


class Shape(Enum):
    """How a correction is put."""

    # It says that a belief, or the agent's own work, was wrong.
    RETRACTION = "retraction"
    # It names what was believed and what is so.
    CONTRAST = "contrast"
    # It finds its own mistake as the cause of what happened.
    OWN_FAULT = "own fault"
    # It notices a fact against what it had just been saying of the same thing.
    REALISATION = "realisation"
    # It says why what it had made did not work.
    DIAGNOSIS = "diagnosis"
    # A person was right, and the fact follows.
    CONCESSION = "concession"


@dataclass(frozen=True, slots=True)
class Form:
    """One shape's words."""

    shape: Shape
    # One of them is in every sentence of this form; looking for words is cheap.
    words: frozenset[str]
    pattern: re.Pattern[str]


# A bare "wait" or "actually" is how models talk and proves nothing: each form names an old belief
# and a new fact, or takes something back. The first that fits counts.
FORMS: Sequence[Form] = tuple(
    Form(shape, frozenset(words.split()), re.compile(pattern, re.IGNORECASE))
    for shape, words, pattern in (
        (
            Shape.RETRACTION,
            "wrong mistaken incorrect",
            r"\bI (?:was|had been|am) (?:wrong|mistaken|incorrect)\b",
        ),
        (
            Shape.RETRACTION,
            "mistake error",
            r"\bI made an? (?:\w{1,12} )?(?:mistake|error)\b(?! of)",
        ),
        (
            Shape.RETRACTION,
            "wrong incorrect mistaken flawed broken incomplete too broke introduced caused",
            rf"\bmy {_OWN_WORK}\b(?:(?!\b(?:which|unless|if)\b).){{0,60}}?\b(?:(?:was|were|"
            rf"is|are) (?:\w{{1,12}} )?"
            r"(?:wrong|incorrect|mistaken|flawed|broken|incomplete|too \w+)|"
            r"(?:broke|introduced|caused)\b)",
        ),
        (Shape.RETRACTION, "correction", r"^Correction:\s*\S.{10,}"),
        (
            Shape.CONTRAST,
            "thought assumed believed expected supposed concluded",
            r"\bI (?:initially|first|originally|wrongly|mistakenly|previously|incorrectly|had) "
            r"(?:thought|assumed|believed|expected|supposed|concluded)\b.{3,200}?"
            r"\b(?:but|however|actually|in fact|turns out)\b",
        ),
        (
            Shape.CONTRAST,
            "thought assumed believed expected",
            r"\bI (?:thought|assumed|believed|expected)\b(?>.{3,200}?\b(?:but|however)\b)"
            r".{0,60}\b(?:actually|really|in fact|instead|turns out|not|n['’]t)\b",
        ),
        (
            Shape.CONTRAST,
            "thought expected assumed believed",
            r"\b(?:(?:different|differently|other|otherwise)(?: \w{1,20}){0,3} than|"
            r"different from what|unlike what|contrary to what|not what|not where|not how) "
            r"I(?: had|['’]d)? (?:\w{1,10}ly )?(?:thought|expected|assumed|believed)\b",
        ),
        (
            Shape.CONTRAST,
            "actually",
            r"^(?:(?:Wait|Hmm|Oh|But|No)[,. -]{1,3})?Actually,?(?: wait)?,?[ \u2014-]{1,3}"
            r"(?!let\b|even\b|maybe\b|perhaps\b|if\b|what\b|why\b|how\b|[^.]{0,120}\bshould\b|"
            r"I(?:['’](?:ll|d|m|ve)| (?:will|should|can|could|need|want|might|think))\b|"
            r"(?:the|a) (?:\w{1,12} )?(?:fix|approach|way|solution|option)\b)"
            r"(?:.{3,160}?(?:, (?:and )?not|\binstead of|\brather than)\b(?! just| only)|"
            r"(?:that|this)(?:['’]s| is) not (?:quite |actually )?(?:right|correct|true|it)\b|"
            r"I reali[sz]e\b.{3,160}\b(?:already|not|n['’]t)\b).{3,}",
        ),
        (
            Shape.CONTRAST,
            "actually",
            r"\b(?:is|are|was|were) actually\b.{3,160}?, (?:not|rather than|"
            r"instead of)\b(?! just| only)",
        ),
        (
            Shape.CONTRAST,
            "turns",
            r"\bit turns out (?:that )?.{5,160}?\b(?:not|n['’]t|instead of|rather than|"
            r"already|only)\b",
        ),
        (
            Shape.CONTRAST,
            "issue problem bug cause error failure",
            r"\bthe (?:real |actual )?(?:issue|problem|bug|cause|error|failure)(?: here)? "
            r"(?:is not|isn['’]t|was not|wasn['’]t)\b(?! (?:just|only)).{3,}",
        ),
        (
            Shape.CONTRAST,
            "actually",
            r"\bactually (?:receives|returns|uses|calls|takes|means|reads|expects|contains|"
            r"happens|"
            r"comes|lives|needs)\b[^,]{3,100}, not\b",
        ),
        (
            Shape.CONTRAST,
            "actually",
            r"\b(?:is|are|was|were) actually (?:already |all )?(?:correct|fine|right|valid)\b"
            r".{0,120}\b(?:not|n['’]t)\b",
        ),
        (
            Shape.OWN_FAULT,
            "explains",
            r"\b(?:this|that) explains why (?:I|my)\b",
        ),  # Only of what it made.
        (
            Shape.OWN_FAULT,
            "happened went",
            r"\bI (?:see|know|understand|realize|realise)(?: now)? what (?:happened|"
            r"went wrong)\b",
        ),
        (Shape.OWN_FAULT, "keep", r"\bI keep (?:forgetting|making|missing)\b"),
        (Shape.OWN_FAULT, "oops", r"^Oops\b.{10,}"),
        (
            Shape.OWN_FAULT,
            "messed should shouldn't",
            r"(?<!since )\bI messed up\b|\bI should(?:n['’]t| not)? have (?:used|checked|"
            r"kept|known|"
            r"replaced|run|tested|grepped|read|verified|passed|set|called|included|added|done)\b",
        ),
        (
            Shape.OWN_FAULT,
            _SLIPS,
            r"\b(?:because|that) (?:I|we) (?:(?:had|have|was|am|were|['’]ve|also|just|only|"
            rf"had also|never) )?(?:accidentally|mistakenly|inadvertently|{_DONE_WRONG})\b",
        ),
        (
            Shape.OWN_FAULT,
            "because",
            r"\bbecause (?:I|we)(?:['’]m| am| was|['’]re| were)? (?:not \w+ing|did not|"
            r"didn['’]t|never)\b",
        ),
        (
            Shape.OWN_FAULT,
            _SLIPS,
            rf"\bI (?:also |have |had )?(?:accidentally|mistakenly|inadvertently|"
            rf"{_DONE_WRONG})\b",
        ),
        (
            Shape.OWN_FAULT,
            "deleted removed renamed broke",
            r"\bwhich I (?:had |have |just )?(?:deleted|removed|renamed|broke)\b",
        ),
        (Shape.OWN_FAULT, "unintended unwanted", r"\b(?:unintended|unwanted) changes?\b"),
        (
            Shape.OWN_FAULT,
            "never",
            r"\b(?:we|I) never (?:actually )?(?:set|call|called|pass|passed|update|updated|"
            r"save|saved|write|wrote)\b",
        ),
        (
            Shape.REALISATION,
            "ah aha oh",
            r"^(?:(?:Hmm|Oh|Wait|But)[,.!]? )?(?:Ah|Aha|Oh)\b[,.!:;\u2014 -]{1,4}+"
            r"(?:I see[,.:]? (?:that )?|I notice (?:that )?|so |actually,? |right[,.] |no[,.] )?+"
            r"(?:the |that |this )?`[^`]{2,80}`[^?.]{0,80}?"
            r"(?:\bNOT\b|\bnot\b(?! (?:only|just|sure))|n['’]t\b|\bnever\b|\balready\b|"
            r"\bmust be\b)[^?]{3,}$",
        ),
        (
            Shape.DIAGNOSIS,
            "see found understand know realize realise notice that's explains why it",
            r"\b(?:I (?:see|found|understand|know|realize|realise|notice) (?:now|"
            r"the (?:issue|problem|"
            r"bug|cause|error|mistake)|what (?:happened|is happening|['’]s happening|"
            r"went wrong)|it\b)|"
            r"found (?:it|the (?:issue|problem|bug))\b|that['’]s (?:why|the (?:issue|problem|"
            r"bug))|"
            r"this (?:explains|is) why|this is it)\b",
        ),
        (
            Shape.CONCESSION,
            "right catch correct",
            r"^(?:(?:yes|no|ah|oh|sorry|haha|hm+|ok|okay|right|so|fair|"
            r"exactly)\b[,.! :]{1,3}){0,2}"
            r"(?:you(?:['’]re| are) (?:absolutely |completely |totally |quite )?right\b|"
            r"good catch\b|"
            r"the user is (?:absolutely )?(?:right|correct)\b)",
        ),
    )
)
# For each word, the places in the table of the forms that may have it.
_BY_WORD: dict[str, tuple[int, ...]] = {
    word: tuple(place for place, form in enumerate(FORMS) if word in form.words)
    for word in sorted(frozenset().union(*(form.words for form in FORMS)))
}
HINTS = frozenset(_BY_WORD)


def shape_in(sentence: str, words: frozenset[str]) -> Shape | None:
    """The first shape that the sentence has; None when it has none."""
    found = words & HINTS
    if not found:
        return None
    for place in sorted({place for word in found for place in _BY_WORD[word]}):
        if FORMS[place].pattern.search(sentence):
            return FORMS[place].shape
    return None
