"""What agents were told, written down by themselves as it happens.

One file for each process of agents, one JSON object a line. A line is written before the call it
announces, or after the answer it reports, so that the file never claims more than was said.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class History:
    """Appends; what was noted is in the file when `note` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._writing = threading.Lock()

    def note(self, what: str, **facts: Any) -> None:
        line = json.dumps({"what": what, **facts}).encode() + b"\n"
        with self._writing:
            self._file.write(line)

    def close(self) -> None:
        self._file.close()


@dataclass(slots=True)
class ProducerTold:
    """What one producer of a session sent, and what of it was acknowledged."""

    # Bodies are made of it.
    label: str
    # No sequence beyond this was ever used.
    sent_to: int = 0
    acknowledged_to: int = 0
    dropped: set[int] = field(default_factory=set)
    # By sequence; what it says.
    records: dict[int, str] = field(default_factory=dict)
    acknowledged_records: set[int] = field(default_factory=set)

    def acknowledged(self) -> set[int]:
        return (set(range(1, self.acknowledged_to + 1)) | self.acknowledged_records) - self.dropped


@dataclass(slots=True)
class SessionTold:
    """What the agent of one session asked for, and what it was told."""

    id: str
    project: str
    type: str
    producers: dict[str, ProducerTold] = field(default_factory=dict)
    # What the agent asked for at the end: outcome and validation, either of which may be None.
    ends: list[tuple[str | None, bool | None]] = field(default_factory=list)
    # All states that an answer named.
    states: set[str] = field(default_factory=set)
    learnt: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Told:
    """All that the agents of one process were told."""

    sessions: dict[str, SessionTold] = field(default_factory=dict)
    # Everything was acknowledged, at the moment of the last line that says so.
    flushed: bool = False
    raised: list[str] = field(default_factory=list)
    overdue: list[dict[str, Any]] = field(default_factory=list)
    # What the process said of itself when it ended.
    account: dict[str, Any] = field(default_factory=dict)

    def take(self, line: dict[str, Any]) -> None:
        """Takes one line in."""
        what = line["what"]
        if what in ("began", "joined"):
            self._begin(line)
        elif what in ("sending", "acknowledged", "dropped", "recording", "recorded"):
            self._report(line)
        elif what in ("ending", "ended"):
            self._end(line)
        elif what == "flushed":
            self._flush()
        elif what == "raised":
            self.raised.append(line["error"])
        elif what == "overdue":
            self.overdue.append(line)
        elif what == "account":
            self.account = line
        else:
            raise ValueError(f"a history says {what!r}")

    def _begin(self, line: dict[str, Any]) -> None:
        session = self.sessions.get(line["session"])
        if session is None:
            session = SessionTold(line["session"], line["project"], line["type"])
            self.sessions[session.id] = session
        session.producers[line["producer"]] = ProducerTold(line["label"])

    def _report(self, line: dict[str, Any]) -> None:
        producer = self.sessions[line["session"]].producers[line["producer"]]
        self.flushed = False
        match line["what"]:
            case "sending":
                producer.sent_to = max(producer.sent_to, line["to"])
            case "acknowledged":
                producer.acknowledged_to = max(producer.acknowledged_to, line["to"])
            case "dropped":
                producer.dropped.update(line["sequences"])
            case "recording":
                producer.sent_to = max(producer.sent_to, line["sequence"])
                producer.records[line["sequence"]] = line["content"]
            case "recorded" if line["stored"]:
                producer.acknowledged_records.add(line["sequence"])
            case "recorded" if line["dropped"]:
                producer.dropped.add(line["sequence"])

    def _end(self, line: dict[str, Any]) -> None:
        session = self.sessions[line["session"]]
        if line["what"] == "ending":
            session.ends.append((line["outcome"], line["validated"]))
            self.flushed = False
            return
        session.states.add(line["state"])
        session.learnt.update(line["learnt"])
        if line["state"] in ("pending", "closed"):
            # The end is told after all that was reported before it.
            for producer in session.producers.values():
                producer.acknowledged_to = producer.sent_to

    def _flush(self) -> None:
        self.flushed = True
        for session in self.sessions.values():
            for producer in session.producers.values():
                producer.acknowledged_to = producer.sent_to


class Reader:
    """Follows one history while it grows."""

    def __init__(self, path: Path) -> None:
        self.told = Told()
        self._path = path
        self._offset = 0

    def read(self) -> Told:
        """All that has been noted so far."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self.told.take(json.loads(line))
        return self.told


def counts(told: list[Told]) -> Iterator[tuple[str, int]]:
    """Sums over all processes, for the summary."""
    sums: defaultdict[str, int] = defaultdict(int)
    for session in (each for one in told for each in one.sessions.values()):
        sums["sessions"] += 1
        sums["sessions answered as closed"] += "closed" in session.states
        sums["memories named as learnt"] += len(session.learnt)
        for producer in session.producers.values():
            sums["events sent"] += producer.sent_to
            sums["events acknowledged"] += len(producer.acknowledged())
            sums["events dropped and counted"] += len(producer.dropped)
            sums["records"] += len(producer.records)
    yield from sums.items()
