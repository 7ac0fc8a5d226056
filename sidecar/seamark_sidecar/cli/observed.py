"""What was seen in a session, as the command line shows it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.text import Text

from seamark.wire.v1 import operator_pb2 as wire
from seamark_sidecar.cli.layout import columns, counted, fields, indented, size_of, wrapped
from seamark_sidecar.cli.records import INDENT
from seamark_sidecar.cli.terminal import plain
from seamark_sidecar.model.session import SessionOrigin

MOST_NAMED = 5

StepOf = Callable[[int], int]


def same(step: int) -> int:
    """For a session that is watched as it happens: its steps are the sidecar's own."""
    return step


def answer_json(
    answer: wire.ObserveSessionResponse,
    session_id: str,
    step_of: StepOf = same,
    *,
    with_calls: bool = False,
) -> dict[str, Any]:
    """All of it for programs."""
    tainted = step_of(answer.tainted_from_step) if _is_tainted(answer) else None
    told: dict[str, Any] = {
        "session_id": session_id,
        "events": answer.event_count,
        "actions": {each.action: each.count for each in answer.actions},
        "files": [
            {"path": each.path, "reads": each.reads, "edits": each.edits, "writes": each.writes}
            for each in answer.files
        ],
        "tests": [run_json(each, step_of) for each in answer.tests],
        "signals": [signal_json(each, step_of) for each in answer.signals],
        "candidates": [candidate_json(each, step_of) for each in answer.candidates],
        "tainted_from_step": tainted,
        "us_per_event": {"p50": answer.event_us_p50, "p99": answer.event_us_p99},
        "scratchpad_bytes": answer.scratchpad_bytes,
    }
    if with_calls:
        told["calls"] = [call_json(each, step_of) for each in answer.calls]
    return told


def signal_json(signal: wire.ObservedSignal, step_of: StepOf = same) -> dict[str, Any]:
    """One finding for programs."""
    confidence = signal.confidence if math.isfinite(signal.confidence) else 0.0
    told: dict[str, Any] = {
        "type": signal.type,
        "step": step_of(signal.step),
        "confidence": round(confidence, 6),
        "files": list(signal.files),
    }
    if signal.content:
        told["content"] = signal.content
    # What all signals have is not to be hidden by a detail of the same name.
    return {
        **told,
        **{name: value for name, value in _details(signal, step_of) if name not in told},
    }


def candidate_json(candidate: wire.ObservedCandidate, step_of: StepOf = same) -> dict[str, Any]:
    """One proposed memory for programs."""
    return {
        "signal": candidate.signal,
        "type": candidate.type,
        "content": candidate.content,
        "files": list(candidate.files),
        "step": step_of(candidate.step),
        "contaminated_by": candidate.contaminated_by,
    }


def run_json(tests: wire.ObservedTests, step_of: StepOf = same) -> dict[str, Any]:
    """One run of tests for programs; a count is null where the output did not say."""
    return {
        "step": step_of(tests.step),
        "passed": tests.passed if tests.passed >= 0 else None,
        "failed": tests.failed if tests.failed >= 0 else None,
    }


def call_json(call: wire.ObservedCall, step_of: StepOf = same) -> dict[str, Any]:
    """One tool call for programs."""
    return {
        "step": step_of(call.step),
        "tool": call.tool,
        "action": call.action,
        "files": list(call.files),
    }


def _details(signal: wire.ObservedSignal, step_of: StepOf) -> Iterator[tuple[str, object]]:
    try:
        details = json.loads(signal.details_json or "{}")
    except ValueError:
        return
    for name, value in details.items() if isinstance(details, dict) else ():
        yield name, _told(name, value, step_of)


def _told(name: str, value: object, step_of: StepOf) -> object:
    """Details that are steps of the session, in the numbers that the reader knows."""
    if name == "steps" and isinstance(value, list):
        return [_told("a_step", each, step_of) for each in value]
    # -1 stands for a step that never came.
    if name.endswith("_step") and isinstance(value, int) and value >= 0:
        return step_of(value)
    return value


def _is_tainted(answer: wire.ObserveSessionResponse) -> bool:
    return answer.HasField("tainted_from_step")


def lines(
    answer: wire.ObserveSessionResponse, width: int, step_of: StepOf = same
) -> Iterator[Text]:
    """A session in short, and what memory would learn from it."""
    rows = [
        ("events", f"{answer.event_count:,} in {counted(answer.step, 'step')}"),
        ("calls", _counts((each.action, each.count) for each in answer.actions)),
        ("files", _files(answer.files)),
        ("tests", _tests(answer.tests, step_of)),
        ("signals", _counts(Counter(each.type for each in answer.signals).most_common())),
        (
            "outside text",
            f"from step {step_of(answer.tainted_from_step)}" if _is_tainted(answer) else "",
        ),
        (
            "cost",
            f"{answer.event_us_p50:.0f} µs an event, {answer.event_us_p99:.0f} µs at the 99th "
            f"percentile, {size_of(answer.scratchpad_bytes)} held",
        ),
    ]
    yield from fields([(name, value) for name, value in rows if value])
    if answer.candidates:
        yield Text(f"  {counted(len(answer.candidates), 'candidate')}", "bold")
    for candidate in answer.candidates:
        yield from candidate_lines(candidate, width, step_of)


def candidate_lines(
    candidate: wire.ObservedCandidate, width: int, step_of: StepOf = same
) -> Iterator[Text]:
    """One proposed memory."""
    heading = Text(" " * INDENT).append(plain(candidate.type), "bold")
    heading.append(f" from {plain(candidate.signal)} at step {step_of(candidate.step)}")
    # Of a recording all are, for want of a witness: that is no news.
    if candidate.contaminated_by not in {"", SessionOrigin.REPLAY}:
        heading.append(f"  contaminated by {plain(candidate.contaminated_by)}", "magenta")
    yield heading
    yield from indented(wrapped(candidate.content.strip(), width - INDENT - 2), INDENT + 2)
    if candidate.files:
        named = ", ".join(map(plain, candidate.files))
        yield from indented(wrapped(named, width - INDENT - 2), INDENT + 2, "cyan")


def sum_lines(answers: Sequence[wire.ObserveSessionResponse]) -> Iterator[Text]:
    """Many sessions together."""
    events = sum(each.event_count for each in answers)
    candidates = sum(len(each.candidates) for each in answers)
    yield Text(
        f"{counted(len(answers), 'session')}, {counted(events, 'event')}, "
        f"{counted(candidates, 'candidate')}",
        "bold",
    )
    found: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for answer in answers:
        kinds = [each.type for each in answer.signals]
        found.update(kinds)
        within.update(set(kinds))
    if found:
        rows = [
            (kind, f"{count:,}", f"in {counted(within[kind], 'session')}")
            for kind, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
        ]
        yield from columns(rows, right=frozenset({1}))


def _counts(pairs: Iterable[tuple[str, int]]) -> str:
    ordered = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered)


def _files(files: Sequence[wire.ObservedFile]) -> str:
    changed = [each.path for each in files if each.edits or each.writes]
    if not files:
        return ""
    named = ", ".join(changed[:MOST_NAMED])
    more = f" and {counted(len(changed) - MOST_NAMED, 'other')}" if changed[MOST_NAMED:] else ""
    changes = f"; {len(changed):,} changed: {named}{more}" if changed else ""
    return f"{len(files):,} touched{changes}"


def _tests(tests: Sequence[wire.ObservedTests], step_of: StepOf) -> str:
    if not tests:
        return ""
    last = tests[-1]
    return f"{counted(len(tests), 'run')}; at step {step_of(last.step)} {run_said(last)}"


def run_said(tests: wire.ObservedTests) -> str:
    """`3 passed, 1 failed`."""
    known = [
        f"{count:,} {word}"
        for count, word in ((tests.passed, "passed"), (tests.failed, "failed"))
        if count >= 0
    ]
    return ", ".join(known) or "with an unknown end"
