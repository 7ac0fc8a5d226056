"""The data directory that is looked at, and what its sidecar says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.lock import Holder, read_holder
from seamark_sidecar.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the sidecar said of itself, or why it said nothing."""

    status: wire.StatusResponse | None = None
    silence: str = ""


class Place:
    """Checks ask it for what several of them need."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], ask: Callable[[], Answer]
    ) -> None:
        self.settings = settings
        self.environ = environ
        self._ask = ask
        self._asking = threading.Lock()

    @property
    def data_dir(self) -> Path:
        return self.settings.data_dir

    def holder(self) -> Holder | None:
        """The sidecar that holds the data directory; raises SidecarError."""
        return read_holder(self.data_dir)

    @property
    def answer(self) -> Answer:
        """What the sidecar says; it is asked once, however many checks want to know."""
        with self._asking:
            return self._answer

    @property
    def status(self) -> wire.StatusResponse | None:
        return self.answer.status

    @cached_property
    def _answer(self) -> Answer:
        return self._ask()
