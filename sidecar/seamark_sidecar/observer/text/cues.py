"""Words by which a sentence shows that it states how a project really is, or that it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class Cue(StrEnum):
    """What a sentence may be about."""

    CAUSE = "cause"
    CONDITION = "condition"
    REQUIREMENT = "requirement"
    CONTRAST = "contrast"
    DISCOVERY = "discovery"
    LOCATION = "location"
    HIDDEN = "hidden"
    COUPLING = "coupling"
    LIMIT = "limit"
    ANYWAY = "anyway"
    ENVIRONMENT = "environment"
    EXPECTATION = "expectation"
    BEHAVIOUR = "behaviour"
    UNFINISHED = "unfinished"


# What a family adds to a sentence's worth, once; measured on real sessions, coarse on purpose.
WORTH: Mapping[Cue, float] = MappingProxyType({
    Cue.CAUSE: 0.5,
    Cue.CONDITION: 1.0,
    Cue.REQUIREMENT: 0.8,
    Cue.CONTRAST: 0.6,
    Cue.DISCOVERY: 0.4,
    Cue.LOCATION: 0.5,
    Cue.HIDDEN: 1.0,
    Cue.COUPLING: 0.6,
    Cue.LIMIT: 0.8,
    Cue.ANYWAY: 1.0,
    Cue.ENVIRONMENT: 0.4,
    Cue.EXPECTATION: 0.6,
    Cue.BEHAVIOUR: 0.4,
    Cue.UNFINISHED: 0.5,
})  # fmt: skip

_FAMILIES: Mapping[Cue, str] = MappingProxyType({
    Cue.CAUSE: "because since therefore hence means caused causes reason culprit why",
    Cue.CONDITION: "only unless except whenever even though otherwise without if",
    Cue.REQUIREMENT: "must required requires require mandatory needs need expects",
    Cue.CONTRAST: "however but although instead rather actually despite whereas unlike still",
    Cue.DISCOVERY: "turns interesting aha found shows confirms",
    Cue.LOCATION: "defined declared implemented located registered lives stored",
    Cue.HIDDEN: (
        "overrides overridden override inherits inherited delegates fallback falls default "
        "defaults implicitly automatically silently ignored ignores skips skipped dropped lost "
        "hidden"
    ),
    Cue.COUPLING: "both also too duplicate duplicated duplicates shared sync twice each",
    Cue.LIMIT: (
        "cannot never nothing missing lacks fails failing failed breaks broken unsupported "
        "unavailable impossible not no isn't aren't wasn't weren't don't doesn't didn't can't "
        "won't couldn't wouldn't shouldn't hasn't haven't"
    ),
    Cue.ANYWAY: "existing preexisting unrelated flaky anyway regardless",
    Cue.ENVIRONMENT: "installed environment version timeout permission linter lint network ci",
    Cue.EXPECTATION: "expected assumed assumes supposed surprising wrong incorrect mistake",
    Cue.BEHAVIOUR: (
        "returns raises throws yields produces accepts calls invokes checks compares converts "
        "strips rewrites matches reads writes"
    ),
    Cue.UNFINISHED: "todo remaining unfinished",
})  # fmt: skip
FAMILY: Mapping[str, Cue] = MappingProxyType({
    word: cue for cue, words in _FAMILIES.items() for word in words.split()
})  # fmt: skip

# What a sentence of no family is worth, and what a doubt takes away.
PLAIN = 0.8
DOUBT = -0.7

_ALL = frozenset(FAMILY)
_ORDER = {cue: place for place, cue in enumerate(Cue)}
_DOUBTS = frozenset("seems seem likely appears apparently could would let wait".split())


def cues_of(words: frozenset[str]) -> tuple[Cue, ...]:
    """The families that the words belong to, in the order of the families."""
    found = words & _ALL
    return tuple(sorted({FAMILY[word] for word in found}, key=_ORDER.__getitem__)) if found else ()


def worth_of(words: frozenset[str], cues: Iterable[Cue]) -> float:
    """How much a sentence of these words promises to say about the project."""
    worth = PLAIN + sum(WORTH[cue] for cue in cues)
    return worth if words.isdisjoint(_DOUBTS) else worth + DOUBT
