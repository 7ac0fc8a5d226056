"""The way from an agent's process to its memory."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamark.delivery import MOST_REFUSALS, Delivery
from seamark.errors import (
    CallRefused,
    LaunchFailed,
    ProtocolMismatch,
    SeamarkError,
    SidecarUnavailable,
)
from seamark.link import FORK_WAIT, Link
from seamark.outbox import Outbox
from seamark.session import ASK_AGAIN, Session, Ticket, Work
from seamark.settings import Settings

if TYPE_CHECKING:
    from seamark.launch import Launcher

log = logging.getLogger("seamark")

JOIN_WAIT = 0.2  # seconds
BEING_STARTED = "the sidecar is being started"


class Client:
    """Starts sessions and carries what they report; one for a process is enough.

    The constructor neither waits nor raises, with or without a sidecar.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.why_without_memory = ""
        self._warned: set[object] = set()
        self._warning = threading.Lock()
        self._closed = False
        self._launcher: Launcher | None = None
        self._launch_failure = ""
        self.settings = settings or self._settings_from_env()
        self.disabled = self.settings.disabled
        self.link = Link(self.settings.address)
        self._delivery = Delivery(self.link, self)
        self.outbox = Outbox(self._delivery.send, self.settings.buffer)
        if self.disabled:
            self.outbox.switch_off()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._launcher = self._own_launcher()
        _clients[id(self)] = self

    def _settings_from_env(self) -> Settings:
        try:
            return Settings.from_env(os.environ)
        except SeamarkError as error:
            self.without_memory(error)
            return Settings(address="", disabled=True)

    def _own_launcher(self) -> Launcher | None:
        settings = self.settings
        if self.disabled or not settings.autostart or settings.data_dir is None:
            return None
        # What an app does not use, its start does not wait for.
        from seamark.launch import Launcher

        return Launcher(settings, settings.data_dir, os.environ, self)

    @property
    def dropped(self) -> int:
        """Events that found the buffer full, or the client closed."""
        return self.outbox.dropped

    @property
    def rejected(self) -> int:
        """Events that cannot be sent, or that the sidecar refused for good."""
        return self._delivery.rejected

    def start_session(
        self,
        *,
        project_path: str | None = None,
        project_name: str = "",
        session_type: str = "build",
        role: str = "",
        task: str = "",
        origin: str = "",
        vouched: bool = False,
        group: str = "",
        parent_session: str = "",
        methodology: str = "",
        phase: str = "",
        work_unit: str = "",
        planned_steps: int = 0,
    ) -> Session:
        """A new session; what memory has for its first prompt is in `session.start`.

        Args:
            origin: `replay` or `import` when its events were recorded before; nothing is learnt
                from such a session unless a person vouched for it.
            vouched: A person at a terminal did.
            group: Sessions with the same one work at the same time on the same thing; they see
                what the others found, and what they found is put together when the last ends.
            parent_session: The id of the session whose agent this one works for.
            methodology: How the work is organised: `native`, `tdd`, `bmad` or a plugin's.
            phase: Where it stands, in the methodology's own words.
            work_unit: What is worked on, from the outside in: `spec_042/subtask_3`.
            planned_steps: How many model calls were planned for it.
        """
        session = self._new_session(
            project_path,
            project_name,
            session_type,
            role,
            task,
            origin,
            vouched=vouched,
            planned_steps=planned_steps,
            work=_work(group, parent_session, methodology, phase, work_unit),
        )
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
        origin: str = "",
        vouched: bool = False,
        group: str = "",
        parent_session: str = "",
        methodology: str = "",
        phase: str = "",
        work_unit: str = "",
        planned_steps: int = 0,
    ) -> Session:
        """The same without blocking the event loop."""
        session = self._new_session(
            project_path,
            project_name,
            session_type,
            role,
            task,
            origin,
            vouched=vouched,
            planned_steps=planned_steps,
            work=_work(group, parent_session, methodology, phase, work_unit),
        )
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
        if not self.disabled and not self._closed:
            self._closed = True
            self.why_without_memory = "the client was closed"
        if self._launcher is not None:
            self._launcher.close()
        self.link.close()
        self.outbox.join(JOIN_WAIT)

    # For the sessions of this client.

    def with_memory(self) -> None:
        """A call went well."""
        if self.why_without_memory and not self._closed:
            self.why_without_memory = self._launch_failure = ""
            log.info("seamark has memory again")

    def without_memory(self, error: Exception) -> None:
        """A call did not; says so once for each kind of reason."""
        if self._closed:
            return
        if self._is_being_mended(error):
            self.why_without_memory = self._launch_failure or BEING_STARTED
            return
        self.why_without_memory = str(error) or repr(error)
        kind = error.reason if isinstance(error, CallRefused) else type(error)
        self._warn(kind, "seamark runs without memory: %s", self.why_without_memory)

    def _is_being_mended(self, error: Exception) -> bool:
        """Whether the launcher sees to it, and says itself what comes of that."""
        if self._launcher is None:
            return False
        if isinstance(error, SidecarUnavailable) and error.absent:
            self._launcher.request()
            return True
        return isinstance(error, ProtocolMismatch) and self._launcher.outdated()

    # For the launcher.

    def sidecar_ready(self) -> None:
        """Tells the sidecar of the sessions that began without it."""
        if self.why_without_memory:
            self.link.reconnect()
        for session in self._living_sessions():
            if not session.is_established:
                self.errand(session, session.make_known)
        self.outbox.wake()

    def sidecar_failed(self, error: LaunchFailed) -> None:
        """There is none, and will not be soon."""
        self._launch_failure = str(error)
        self.without_memory(error)

    def met_sidecar(self, version: str) -> None:
        """A sidecar of this version answers."""
        if self._launcher is not None:
            self._launcher.met(version)

    def warn_of(self, body: object, error: Exception) -> None:
        """Something cannot be sent; says so once for each kind of thing."""
        kind = type(body)
        self._warn(kind, "seamark cannot report %s: %.200r", kind.__name__, error)

    def _warn(self, kind: object, message: str, *parts: object) -> None:
        with self._warning:
            if kind in self._warned:
                return
            self._warned.add(kind)
        log.warning(message, *parts)

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
                    error.reason not in ASK_AGAIN or next(refusals) >= MOST_REFUSALS
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
        origin: str = "",
        *,
        vouched: bool = False,
        planned_steps: int = 0,
        work: Work = Work(),  # noqa: B008 - it is frozen
    ) -> Session:
        ticket = Ticket.new(
            project_path=str(project_path) if project_path is not None else _here(),
            project_name=str(project_name),
            session_type=str(session_type),
            role=str(role),
            work=work,
        )
        return self._track(
            Session(
                self,
                ticket,
                str(task),
                str(origin),
                vouched=bool(vouched),
                planned_steps=planned_steps,
            )
        )

    def _track(self, session: Session) -> Session:
        self._sessions.add(session)
        return session

    def _living_sessions(self) -> list[Session]:
        while True:
            try:
                return list(self._sessions)
            except RuntimeError:  # Another thread began one meanwhile.
                continue

    def _after_fork(self) -> None:
        # In a child gRPC hangs past its deadlines when its fork support was switched off.
        if os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() in {"0", "false"}:
            self.disabled = True
        self._warning = threading.Lock()
        self.link.after_fork()
        self.outbox.after_fork()
        if self._launcher is not None:
            self._launcher.after_fork()
        if self.disabled:
            self.outbox.switch_off()
            self._launcher = None
        for session in self._sessions:
            session.after_fork()


def _work(group: str, parent_session: str, methodology: str, phase: str, work_unit: str) -> Work:
    return Work(
        group=str(group),
        parent_session=str(parent_session),
        methodology=str(methodology),
        phase=str(phase),
        work_unit=str(work_unit),
    )


def connect(**changes: Any) -> Client:
    """A client with the settings of the environment but for these changes.

    `connect()` finds the user's sidecar or starts it; with an `address` it goes there and starts
    none. Like the constructor it neither waits nor raises, unless a setting does not exist.
    """
    environ = dict(os.environ)
    for name, variable in (("data_dir", "SEAMARK_DATA_DIR"), ("address", "SEAMARK_ADDRESS")):
        if name in changes:
            environ[variable] = os.fspath(changes.pop(name))
    try:
        return Client(replace(Settings.from_env(environ), **changes))
    except SeamarkError as error:
        client = Client(Settings(address="", disabled=True))
        client.without_memory(error)
        return client


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


_clients: weakref.WeakValueDictionary[int, Client] = weakref.WeakValueDictionary()
_held: list[Link] = []


def _living() -> list[Client]:
    # Iterating over the dictionary itself could meet a client that another thread makes.
    return [client for each in _clients.valuerefs() if (client := each()) is not None]


def _before_fork() -> None:
    until = time.monotonic() + FORK_WAIT
    for client in _living():
        client.link.hold(until)
        _held.append(client.link)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    _held.clear()
    for client in _living():
        client._after_fork()
    # Workers of multiprocessing leave without the handlers of atexit, and begin by clearing
    # their own, so that this one has to come after that.
    if util := sys.modules.get("multiprocessing.util"):
        util.register_after_fork(_clients, lambda _: util.Finalize(None, _at_exit, exitpriority=0))


def _at_exit() -> None:
    # The senders are all at work meanwhile: together they get no more time than one alone.
    began = time.monotonic()
    for client in _living():
        client.close(max(0.0, client.settings.close_deadline - (time.monotonic() - began)))


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
atexit.register(_at_exit)
