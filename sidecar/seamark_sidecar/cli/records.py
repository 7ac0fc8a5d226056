"""Memories as the command line shows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from rich.text import Text

from seamark.wire.v1 import operator_pb2, sidecar_pb2
from seamark_sidecar.cli.layout import counted, indented, shortened, wrapped
from seamark_sidecar.cli.terminal import plain

INDENT = 4

# Enough to be unique, short enough to read aloud.
_ID_LENGTH = 16

_MOST_LINES = 12


def short_id(memory_id: str) -> str:
    """The beginning of an id, enough to find it again."""
    return plain(memory_id[:_ID_LENGTH])


def moment(stamp: Timestamp) -> datetime | None:
    """The instant, or None when it is unset or outside the calendar."""
    if not stamp.seconds:
        return None
    try:
        return stamp.ToDatetime(UTC)
    except (OverflowError, ValueError):
        return None


def record_json(record: operator_pb2.MemoryRecord) -> dict[str, Any]:
    """A memory for programs."""
    created = moment(record.create_time)
    return {
        "memory_id": record.memory_id,
        "project_id": record.project_id,
        "project_name": record.project_name,
        "type": record.type,
        "content": record.content,
        "files": list(record.files),
        "tags": list(record.tags),
        "confidence": _number(record.confidence),
        "source": record.source,
        "session_id": record.session_id,
        "label": record.label,
        "create_time": created.isoformat() if created else None,
        "access_count": record.access_count,
        "pinned": record.pinned,
        "needs_review": record.needs_review,
    }


def hit_json(hit: sidecar_pb2.MemoryHit) -> dict[str, Any]:
    """A found memory for programs."""
    return {
        "memory_id": hit.memory_id,
        "type": hit.type,
        "content": hit.content,
        "files": list(hit.files),
        "confidence": _number(hit.confidence),
        "score": _number(hit.score),
        "label": hit.label,
        "needs_review": hit.needs_review,
    }


def record_lines(
    record: operator_pb2.MemoryRecord, width: int, *, with_project: bool = False
) -> Iterator[Text]:
    """A memory in a list: what it is, its first line, its files."""
    notes = [
        *([f"project {record.project_name}"] if with_project and record.project_name else []),
        *(["pinned"] if record.pinned else []),
        *(["needs review"] if record.needs_review else []),
    ]
    yield _heading(record.memory_id, record.type, record.confidence, notes)
    yield from indented([shortened(record.content, width - INDENT)], INDENT)
    yield from _files(record.files, width)


def hit_lines(hit: sidecar_pb2.MemoryHit, width: int) -> Iterator[Text]:
    """A found memory, with its whole text."""
    notes = ["needs review"] if hit.needs_review else []
    yield _heading(hit.memory_id, hit.type, hit.confidence, notes)
    lines = wrapped(hit.content.strip(), width - INDENT)
    yield from indented(lines[:_MOST_LINES], INDENT)
    if len(lines) > _MOST_LINES:
        more = counted(len(lines) - _MOST_LINES, "more line")
        yield from indented([f"… {more}; --json shows all"], INDENT, "dim")
    yield from _files(hit.files, width)


def _heading(memory_id: str, kind: str, confidence: float, notes: list[str]) -> Text:
    line = Text().append(short_id(memory_id), "yellow").append("  ").append(plain(kind), "bold")
    line.append(f"  {confidence:.2f}")
    for note in notes:
        line.append("  ").append(plain(note), "magenta")
    return line


def _files(files: Iterable[str], width: int) -> list[Text]:
    if not files:
        return []
    return indented(wrapped(", ".join(map(plain, files)), width - INDENT), INDENT, "cyan")


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
