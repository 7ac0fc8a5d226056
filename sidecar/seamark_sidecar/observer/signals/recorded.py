"""What the agent itself asked to be remembered."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.events import MemoryRecorded
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key, one_line

LONGEST_CONTENT = 8192


class Recorded:
    """Keeps each record once."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}

    def see(self, moment: Moment) -> None:
        record = moment.body
        if not isinstance(record, MemoryRecorded):
            return
        type_ = MemoryType.named(record.type)
        content = one_line(record.content)[:LONGEST_CONTENT]
        if type_ is None or not content:
            return
        key = finding_key("recorded", content)
        self._found[key] = Signal(
            kind=SignalKind.RECORDED,
            source=Source.AGENT_EXPLICIT,
            type=type_,
            content=content,
            key=key,
            files=record.files,
            tags=record.tags,
            step=moment.step,
            confidence=1.0,
        )

    def signals(self) -> Iterable[Signal]:
        return self._found.values()

    def size(self) -> int:
        return 1000 * len(self._found)

    def shrink(self) -> None:
        """These are what a session is watched for, few, and kept."""
