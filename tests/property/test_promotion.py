"""Promotion over any number of sessions, against a plain account of what each of them found."""

import itertools
from collections import defaultdict

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seamark_sidecar.model.candidate import Fate
from seamark_sidecar.model.session import SessionType
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.gates import GATES
from seamark_sidecar.promotion.taxonomy import HIGHEST_CONFIDENCE, WORTH
from tests.unit.sidecar.promotion.sample import candidate, promoter, session

# Few and unlike each other, so that sessions find the same things again.
FINDINGS = [
    (signal, f"{word} " * 5 + str(signal))
    for signal in SignalKind
    for word in ("alpha", "beta", "gamma", "delta")
]


class Promotions(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.numbers = itertools.count(1)
        self.promoter = promoter()
        self.memories = {}
        self.sightings = defaultdict(tuple)
        self.learnt = {}
        # The oracle: which sessions were allowed to find what.
        self.finders = defaultdict(list)

    @rule(
        type_=st.sampled_from(SessionType),
        found=st.lists(st.sampled_from(FINDINGS), max_size=30),
    )
    def a_session_is_validated(self, type_, found):
        ended = session(f"s{next(self.numbers)}", type_)
        candidates = [candidate(text, signal, key=text) for signal, text in found]
        promotion = self.promoter.weigh(
            ended,
            candidates,
            existing=tuple(self.memories.values()),
            sightings=self.sightings,
            learnt=self.learnt,
        )
        assert len(promotion.verdicts) == len(candidates)
        new = [each for each in promotion.memories if each.id not in self.memories]
        assert len(new) <= GATES[type_].most
        for made in promotion.memories:
            before = self.memories.get(made.id)
            if before is not None:
                assert made.confidence >= before.confidence
                assert made.sessions[: len(before.sessions)] == before.sessions
            self.memories[made.id] = made
        for verdict in promotion.verdicts:
            assert verdict.reason
            if verdict.fate is Fate.HELD:
                seen = len(self.finders[verdict.candidate.content]) + 1
                needed = WORTH[verdict.candidate.signal].sessions
                assert seen < needed or len(new) == GATES[type_].most
            assert bool(verdict.memory_id) == (verdict.fate in (Fate.PROMOTED, Fate.REINFORCED))
            if verdict.memory_id:
                self.learnt.setdefault(verdict.candidate.key, verdict.memory_id)
        for key in promotion.sightings:
            self.sightings[key] += (ended.id,)
        for signal, text in dict.fromkeys(found):
            if signal in GATES[type_].signals:
                self.finders[text].append(ended.id)

    @invariant()
    def a_finding_is_one_memory_and_names_its_finders(self):
        by_content = {each.content: each for each in self.memories.values()}
        assert len(by_content) == len(self.memories)
        for text, made in by_content.items():
            assert list(made.sessions) == self.finders[text]
            assert len(made.sessions) >= WORTH[SignalKind(made.signal)].sessions
            assert made.confidence <= HIGHEST_CONFIDENCE


TestPromotions = Promotions.TestCase
