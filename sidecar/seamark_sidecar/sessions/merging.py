"""What the sessions of a work group found, put together; each a pure function."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from seamark_sidecar.model.candidate import Candidate, proposed
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.promotion.likeness import alike, words_of

# Entries above the first are one; those above the second count as found by both.
SAME = 0.88
QUORUM = 0.85
# Of each member, the first; hostile ones, all alike, would be compared with each other.
MOST_ENTRIES = 60
MOST_CONFLICTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What one session of a group brings when the group ends."""

    session_id: str
    role: str = ""
    candidates: Sequence[Candidate] = ()
    # Project-relative path to the step at which it was last touched, for files it changed.
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For people."""
        return self.role or self.session_id[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What is left of a member's entries once the group's are put together."""

    candidates: Sequence[Candidate] = ()
    # Entries that are one with another session's, each with that session and its entry's key.
    absorbed: Sequence[tuple[Candidate, str, str]] = ()


def merge(members: Sequence[Member]) -> dict[str, Share]:
    """Each session's share, once entries that are alike are one.

    An entry belongs to the first member that has it. What others found too carries their names,
    and is contaminated when any of them is.
    """
    entries = [
        (member.session_id, candidate)
        for member in members
        for candidate in member.candidates[:MOST_ENTRIES]
    ]
    near = _neighbours([candidate for _, candidate in entries])
    shares: dict[str, list[Candidate]] = {member.session_id: [] for member in members}
    absorbed: dict[str, list[tuple[Candidate, str, str]]] = {}
    kept: set[int] = set()
    for place, (session_id, candidate) in enumerate(entries):
        first = next(
            (
                each
                for each in near[place]
                if each in kept and _is_same(entries[each][1], candidate)
            ),
            None,
        )
        if first is None:
            kept.add(place)
            others = [entries[each] for each in near[place]]
            shares[session_id].append(_joined(session_id, candidate, others))
        else:
            into, entry = entries[first]
            absorbed.setdefault(session_id, []).append((candidate, into, entry.key))
    return {
        member.session_id: Share(
            candidates=(*shares[member.session_id], *member.candidates[MOST_ENTRIES:]),
            absorbed=tuple(absorbed.get(member.session_id, ())),
        )
        for member in members
    }


def conflicts(members: Sequence[Member]) -> list[Signal]:
    """Files that several members changed, by their path."""
    by_path: dict[str, list[Member]] = {}
    for member in members:
        for path in member.changed:
            by_path.setdefault(path, []).append(member)
    contested = sorted(path for path, involved in by_path.items() if len(involved) > 1)
    return [_conflict(path, by_path[path]) for path in contested[:MOST_CONFLICTS]]


def with_conflicts(members: Sequence[Member], learning: Collection[str]) -> list[Member]:
    """The members, with what their conflicts propose.

    Args:
        learning: The sessions that may teach; each conflict goes to the first of them in it.
    """
    by_id = {member.session_id: member for member in members}
    for signal in conflicts(members):
        involved = [each for each in members if signal.files[0] in each.changed]
        teacher = next((each.session_id for each in involved if each.session_id in learning), None)
        candidate = proposed(signal)
        if teacher is None or candidate is None:
            continue
        contaminated_by = next(
            (
                entry.contaminated_by
                for each in involved
                for entry in each.candidates
                if entry.contaminated_by
            ),
            "",
        )
        candidate = dataclasses.replace(candidate, contaminated_by=contaminated_by)
        known = by_id[teacher]
        by_id[teacher] = dataclasses.replace(known, candidates=(candidate, *known.candidates))
    return list(by_id.values())


def _neighbours(candidates: Sequence[Candidate]) -> list[list[int]]:
    """For each candidate the places of others that say much the same, in their order.

    Texts that share so much share one of their rarest words, so that only those are compared.
    """
    contents = [words_of(each.content) for each in candidates]
    counts = Counter(word for words in contents for word in words)
    listed: dict[tuple[MemoryType, str], list[int]] = {}
    near: list[list[int]] = [[] for _ in candidates]
    for place, (candidate, words) in enumerate(zip(candidates, contents, strict=True)):
        rarest = sorted(words, key=lambda word: (counts[word], word))
        telling = rarest[: len(words) - math.ceil(QUORUM * len(words)) + 1]
        met = {
            other
            for name in (*telling, f" {candidate.key}")
            for other in listed.get((candidate.type, name), ())
        }
        for other in sorted(met):
            if _is_like(candidates[other], candidate, QUORUM):
                near[place].append(other)
                near[other].append(place)
        for name in (*telling, f" {candidate.key}"):
            listed.setdefault((candidate.type, name), []).append(place)
    return near


def _is_same(one: Candidate, other: Candidate) -> bool:
    return _is_like(one, other, SAME)


def _is_like(one: Candidate, other: Candidate, least: float) -> bool:
    return one.type is other.type and (
        one.key == other.key or alike(one.content, other.content, least)
    )


def _joined(
    session_id: str, candidate: Candidate, others: Sequence[tuple[str, Candidate]]
) -> Candidate:
    """The candidate with all who found it."""
    finders = dict.fromkeys(finder for finder, _ in others if finder != session_id)
    pages = (entry.contaminated_by for _, entry in others if entry.contaminated_by)
    return dataclasses.replace(
        candidate,
        also_found_by=tuple(finders),
        contaminated_by=candidate.contaminated_by or next(pages, ""),
    )


def _conflict(path: str, involved: Sequence[Member]) -> Signal:
    digest = hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:16]
    names = " and ".join(dict.fromkeys(member.name for member in involved))
    return Signal(
        kind=SignalKind.PARALLEL_CONFLICT,
        step=max(member.changed[path] for member in involved),
        confidence=1.0,
        key=f"parallel_conflict:{digest}",
        files=(path,),
        details={
            "file": path,
            "sessions": tuple(member.session_id for member in involved),
            "roles": tuple(member.role for member in involved),
            "steps": tuple(member.changed[path] for member in involved),
        },
        content=f"Agents that worked at the same time ({names}) both changed `{path}`; "
        "give work on it to one of them.",
        type=MemoryType.GOTCHA,
    )
