"""What a session used, taught and holds back, in words."""

from __future__ import annotations

from collections.abc import Sequence

from seamark.injections import Citation, HeldBack, SessionState, SessionSummary
from seamark_sidecar.model.candidate import Fate, Verdict
from seamark_sidecar.model.memory import label_of

MOST_NAMED = 3


def waiting(used: Sequence[Citation], candidates: int) -> SessionSummary:
    """Of a session whose validation is awaited."""
    line = (
        f"{_used(used)}; {_count(candidates, 'finding')} held back until the work is validated: "
        "complete(validated=True) releases"
    )
    return SessionSummary(state=SessionState.PENDING, used=tuple(used), line=line)


def grouped(used: Sequence[Citation], candidates: int) -> SessionSummary:
    """Of a session whose work group is still at work."""
    line = (
        f"{_used(used)}; {_count(candidates, 'finding')} held back until the last session of its "
        "group has ended, and put together with theirs"
    )
    return SessionSummary(state=SessionState.PENDING, used=tuple(used), line=line)


def closed(used: Sequence[Citation], verdicts: Sequence[Verdict], why: str) -> SessionSummary:
    """Of a session whose gate has closed."""
    # A memory that was found more than once is learnt once.
    learnt: dict[str, Citation] = {}
    for each in verdicts:
        if each.fate in (Fate.PROMOTED, Fate.REINFORCED):
            learnt.setdefault(
                each.memory_id,
                Citation(memory_id=each.memory_id, label=_label(each), reason=each.reason),
            )
    held = tuple(
        HeldBack(label=_label(each), reason=each.reason, release=each.release)
        for each in verdicts
        if each.fate is Fate.HELD
    )
    discarded = sum(each.fate is Fate.DISCARDED for each in verdicts)
    parts = [_used(used), f"learnt {len(learnt)}"]
    if held:
        named = "; ".join(
            f"{each.reason}, released by {each.release}" for each in held[:MOST_NAMED]
        )
        more = f"; and {len(held) - MOST_NAMED} more" if len(held) > MOST_NAMED else ""
        parts.append(f"held back {len(held)} ({named}{more})")
    if discarded:
        parts.append(f"discarded {discarded}" + (f" ({why})" if why else ""))
    return SessionSummary(
        state=SessionState.CLOSED,
        used=tuple(used),
        learnt=tuple(learnt.values()),
        held_back=held,
        line=", ".join(parts),
    )


def _used(used: Sequence[Citation]) -> str:
    return f"used {_count(len({each.memory_id for each in used}), 'memory', 'memories')}"


def _label(verdict: Verdict) -> str:
    return label_of(verdict.candidate.type, verdict.candidate.content)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
