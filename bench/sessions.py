"""Recorded sessions of real agents as events of the SDK.

No recordings are part of this project: they are looked for where SEAMARK_EVALUATION_DATA says,
else beside the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from seamark.events import Event
from seamark_sidecar.observer.scratchpad import Scratchpad
from seamark_sidecar.recordings import detect
from seamark_sidecar.recordings.recording import Recording as Kept
from seamark_sidecar.recordings.recording import Unreadable

DATA = "SEAMARK_EVALUATION_DATA"
PRODUCER = "recording"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded session as the observer is shown it."""

    kept: Kept

    @property
    def id(self) -> str:
        """The recording's own."""
        return self.kept.session_id

    @property
    def root(self) -> str:
        """Where the project most likely lay on the machine it was recorded on."""
        return self.kept.root

    def events(self) -> Iterator[Event]:
        """What happened, as events of one producer."""
        for sequence, sent in enumerate(self.kept.events(), 1):
            time = datetime.fromtimestamp(sent.seconds, UTC)
            yield Event(producer_id=PRODUCER, sequence=sequence, time=time, body=sent.body)

    def watched(self) -> Scratchpad:
        """A scratchpad that has seen all of it."""
        pad = Scratchpad(root=self.root)
        for event in self.events():
            pad.apply(event)
        return pad

    def own_step(self, step: int) -> int:
        """The recording's number of a step that the observer counted."""
        steps = self.kept.steps()
        return steps[min(step, len(steps) - 1)] if steps else step


def recordings(path: Path) -> Iterator[Recording]:
    """All recordings in the directory and below it, or the one file, in the order of names."""
    for file in detect.files(path):
        recording = read(file)
        if recording is not None:
            yield recording


def read(file: Path) -> Recording | None:
    """The first recording in the file; None when it holds something else."""
    try:
        return next((Recording(each) for each in detect.read(file)), None)
    except Unreadable:
        return None


def data_directory(given: Path | None = None) -> Path:
    """Where evaluation data is looked for."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return given or Path(os.environ.get(DATA) or beside)
