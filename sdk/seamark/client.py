"""The way from an agent's process to its memory."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from seamark import calls
from seamark.errors import CallRefused, SeamarkError
from seamark.link import Link
from seamark.outbox import Entry, Outbox
from seamark.session import Session, Ticket
from seamark.settings import Settings
from seamark.wire.v1 import sidecar_pb2 as wire

log = logging.getLogger("seamark")

INGEST_TIMEOUT = 2.0  # seconds, on the sender's thread
FORK_WAIT = 0.2
MOST_REFUSALS = 3  # of one errand, before it is given up


class Client:
    """Starts sessions and carries what they report; one for a process is enough.

    The constructor neither waits nor raises, with or without a sidecar.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.why_without_memory = ""
        self.rejected = 0
        self._warned: set[type[BaseException]] = set()
        self._warning = threading.Lock()
        self.settings = settings or self._settings_from_env()
        self.disabled = self.settings.disabled
        self.link = Link(self.settings.address)
        self.outbox = Outbox(self._deliver, self.settings.buffer)
        if self.disabled:
            self.outbox.discard()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        _clients.add(self)

    def _settings_from_env(self) -> Settings:
        try:
            return Settings.from_env(os.environ)
        except SeamarkError as error:
            self.without_memory(error)
            return Settings(address="", disabled=True)

    @property
    def dropped(self) -> int:
        """Events that found the buffer full."""
        return self.outbox.dropped

    def start_session(
        self,
        *,
        project_path: str | None = None,
        project_name: str = "",
        session_type: str = "build",
        role: str = "",
        task: str = "",
    ) -> Session:
        """A new session; what memory has for its first prompt is in `session.start`."""
        session = self._new_session(project_path, project_name, session_type, role, task)
        if not self.disabled:
            try:
                session.establish(self.settings.session_start_deadline)
                self.with_memory()
            except Exception as error:  # noqa: BLE001 - the agent goes on whatever happens here
                self.without_memory(error)
        return session

    async def astart_session(
        self,
        *,
        project_path: str | None = None,
        project_name: str = "",
        session_type: str = "build",
        role: str = "",
        task: str = "",
    ) -> Session:
        """The same without blocking the event loop."""
        session = self._new_session(project_path, project_name, session_type, role, task)
        if not self.disabled:
            try:
                await session.aestablish(self.settings.session_start_deadline)
                self.with_memory()
            except Exception as error:  # noqa: BLE001 - the agent goes on whatever happens here
                self.without_memory(error)
        return session

    def resume_session(self, ticket: str) -> Session:
        """Continues the session of a ticket, also one of another process."""
        try:
            unpacked = Ticket.unpack(ticket)
        except SeamarkError as error:
            self.without_memory(error)
            return self._new_session(None, "", "", "", "")
        return self._track(Session(self, unpacked))

    def flush(self, timeout: float) -> bool:
        """Waits until everything reported is acknowledged; False when time ran out."""
        return self.disabled or self.outbox.flush(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Delivers what is waiting, within the close deadline, and lets go of the sidecar."""
        self.outbox.close(self.settings.close_deadline if timeout is None else timeout)
        self.link.close()

    # For the sessions of this client.

    def with_memory(self) -> None:
        """A call went well."""
        if self.why_without_memory:
            self.why_without_memory = ""
            log.info("seamark has memory again")

    def without_memory(self, error: BaseException) -> None:
        """A call did not; says so once for each kind of reason."""
        self.why_without_memory = str(error) or repr(error)
        with self._warning:
            if type(error) in self._warned:
                return
            self._warned.add(type(error))
        log.warning("seamark runs without memory: %s", self.why_without_memory)

    def refused(self, body: object, error: Exception) -> None:
        """Counts an event that cannot be sent."""
        self.rejected += 1
        log.warning("seamark cannot report %s: %s", type(body).__name__, error)

    def errand(self, session: Session, run: Callable[[], Any]) -> Future[Any]:
        """Makes a call after all that was reported before, as often as it takes."""
        if self.disabled:
            settled: Future[Any] = Future()
            settled.set_result(None)
            return settled

        refusals = itertools.count(1)

        def guarded() -> Any:
            try:
                answer = run()
            except SeamarkError as error:
                self.without_memory(error)
                # A sidecar that forgot the session is told of it first, then asked again.
                if isinstance(error, CallRefused) and (
                    session.is_established or next(refusals) >= MOST_REFUSALS
                ):
                    return None
                raise
            self.with_memory()
            return answer

        return self.outbox.run_errand(session, guarded)

    def _new_session(
        self,
        project_path: str | None,
        project_name: str,
        session_type: str,
        role: str,
        task: str,
    ) -> Session:
        ticket = Ticket.new(
            project_path=str(project_path) if project_path is not None else _here(),
            project_name=str(project_name),
            session_type=str(session_type),
            role=str(role),
        )
        return self._track(Session(self, ticket, str(task)))

    def _track(self, session: Session) -> Session:
        self._sessions.add(session)
        return session

    def _deliver(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Sends events on the sender's thread; returns those that have to be sent again."""
        groups: dict[Session, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry[0], []).append(entry)
        try:
            known = {
                session: group for session, group in groups.items() if self._knows(session, group)
            }
            request = wire.IngestRequest(
                batches=[session.batch(group) for session, group in known.items()]
            )
            if not request.batches:
                return ()
            response = self.link.call(calls.INGEST, request, INGEST_TIMEOUT)
        except SeamarkError as error:
            self.without_memory(error)
            raise
        self.with_memory()
        again: list[Entry] = []
        # A sidecar that returns too few receipts has acknowledged nothing for the others.
        receipts = [*response.receipts, *[wire.BatchReceipt()] * len(known)]
        for (session, group), batch, receipt in zip(
            known.items(), request.batches, receipts, strict=False
        ):
            if receipt.acknowledged_count + receipt.rejected_count >= len(batch.events):
                self.rejected += receipt.rejected_count
                continue
            if receipt.rejected_reason:
                session.forget_capability()
            again.extend(group)
        return again

    def _knows(self, session: Session, group: Sequence[Entry]) -> bool:
        """Makes a session known to the sidecar; False when it is refused for good."""
        if session.is_established:
            return True
        try:
            session.establish()
        except CallRefused as error:
            self.without_memory(error)
            self.rejected += len(group)
            return False
        return True

    def _after_fork(self) -> None:
        # In a child gRPC hangs past its deadlines when its fork support was switched off.
        if os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() in {"0", "false"}:
            self.disabled = True
        self._warning = threading.Lock()
        self.link.after_fork()
        self.outbox.after_fork()
        if self.disabled:
            self.outbox.discard()
        for session in self._sessions:
            session.after_fork()


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


_clients: weakref.WeakSet[Client] = weakref.WeakSet()
_held: list[threading.Lock] = []


def _before_fork() -> None:
    for client in _clients:
        if client.outbox.sending.acquire(timeout=FORK_WAIT):
            _held.append(client.outbox.sending)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    _held.clear()
    for client in _clients:
        client._after_fork()


def _at_exit() -> None:
    for client in list(_clients):
        client.close()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
atexit.register(_at_exit)
