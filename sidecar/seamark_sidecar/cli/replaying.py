"""Feeds a recording to the sidecar as an agent's process would."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from seamark.client import Client
from seamark.events import SessionOutcome
from seamark.injections import SessionState
from seamark.session import Session
from seamark.settings import Settings as SdkSettings
from seamark.wire.v1 import operator_pb2 as wire
from seamark_sidecar.cli.connection import Connection
from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.model.session import SessionOrigin
from seamark_sidecar.recordings.recording import Recording

# Nobody waits for an answer as an agent does; a sidecar that is just being restarted may take long.
PATIENCE = 60.0  # seconds
# Events on their way at a time: what does not fit into the buffer would be dropped.
_AT_ONCE = 2048
_LOOK_EVERY = 2.0  # seconds
_PAUSE = 0.2
_CLOSED = SessionState.CLOSED
_UNNAMED = "recorded sessions"


class Replayer:
    """Replays one recording after the other through the SDK.

    Args:
        sidecar: To ask what was seen.
        revive: Starts the sidecar again if it has gone.
        project: Path of the project that what is learnt belongs to; None: one named as the
            recording's repository.
        vouched: A person stands for the recordings: they are learnt from as if they had been
            watched and validated.
        keep: Leave the sessions open, so that they can be looked at.
    """

    def __init__(
        self,
        sidecar: Connection,
        *,
        revive: Callable[[], object],
        session_type: str,
        project: str | None = None,
        vouched: bool = False,
        keep: bool = False,
    ) -> None:
        self._sidecar = sidecar
        self._revive = revive
        self._session_type = session_type
        self._project = project
        self._vouched = vouched
        self._keep = keep
        self._client = Client(
            SdkSettings(
                address=sidecar.settings.address,
                buffer=2 * _AT_ONCE,
                session_start_deadline=PATIENCE,
                close_deadline=_LOOK_EVERY,
                tool_deadline=PATIENCE,
            )
        )

    def replay(
        self, recording: Recording, on_event: Callable[[], None] = lambda: None
    ) -> wire.ObserveSessionResponse:
        """What the sidecar saw in it; raises CommandFailed."""
        session = self._session(recording)
        for count, sent in enumerate(recording.events(), 1):
            session.observe_at(sent.seconds, sent.body)
            on_event()
            if count % _AT_ONCE == 0:
                self._flush()
        self._flush()
        answer = self._seen(session)
        self._end(session)
        return answer

    @property
    def refused(self) -> int:
        """Events so far that the sidecar did not take."""
        return self._client.rejected + self._client.dropped

    def close(self) -> None:
        """Lets go of the sidecar."""
        self._client.close(timeout=1.0)

    def _session(self, recording: Recording) -> Session:
        is_given = self._project is not None
        return self._client.start_session(
            project_path=self._project if is_given else recording.root,
            project_name="" if is_given else recording.repo or _UNNAMED,
            session_type=self._session_type,
            task=recording.task,
            origin=SessionOrigin.REPLAY,
            vouched=self._vouched,
        )

    def _flush(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self._client.flush(_LOOK_EVERY):
            if time.monotonic() > end:
                why = self._client.why_without_memory or "it does not answer"
                raise CommandFailed("SIDECAR_TOO_SLOW", f"the sidecar takes no events: {why}")
            self._mend()

    def _seen(self, session: Session) -> wire.ObserveSessionResponse:
        request = wire.ObserveSessionRequest(session_id=session.id)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self._sidecar.call(self._sidecar.operator.ObserveSession, request, PATIENCE)
            except CommandFailed as failure:
                if failure.reason != "SIDECAR_UNAVAILABLE" or time.monotonic() > end:
                    raise
            # A channel whose other end has gone waits a moment before it looks again.
            self._mend()
            time.sleep(_PAUSE)

    def _mend(self) -> None:
        # One that is killed while it starts is started again; who waits gives up in the end.
        with suppress(CommandFailed):
            self._revive()

    def _end(self, session: Session) -> None:
        if self._keep:
            return
        outcome = SessionOutcome.SUCCESS if self._vouched else SessionOutcome.CANCELLED
        end = time.monotonic() + PATIENCE
        # An end that is told again is the same end.
        while (told := session.complete(outcome, validated=self._vouched)).state is not _CLOSED:
            if time.monotonic() > end:
                raise CommandFailed("SESSION_NOT_ENDED", f"the session was not ended: {told.line}")
            self._flush()
