"""The sessions of one middleware: how they are found, and how they end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seamark import Client, Session, SessionSummary
from seamark_langgraph import _translate
from seamark_langgraph._guard import Faults
from seamark_langgraph._runs import Run, Runs
from seamark_langgraph._state import Frozen

log = logging.getLogger("seamark")

# Ended side by side, so that an absent sidecar delays the app by one deadline, not by one each.
MOST_ENDINGS = 32


class Sessions:
    """Finds a run by the ticket in the agent's state, and ends runs once for all threads."""

    def __init__(self, client: Client | None, faults: Faults) -> None:
        self.last_summary = SessionSummary()
        self._given_client = client
        self._own_client: Client | None = None
        self._lock = threading.Lock()
        self._runs = Runs()
        self._faults = faults

    @property
    def client(self) -> Client:
        """The app's client, or one of our own from the first use on."""
        if self._given_client is not None:
            return self._given_client
        with self._lock:
            if self._own_client is None:
                self._own_client = Client()
            return self._own_client

    def begun(self, session: Session) -> Run:
        """The run of a session that has just been started."""
        return self._runs.add(Run(session))

    def run_of(self, state: object) -> Run | None:
        """The run that a state belongs to; None to go on without memory."""
        with self._faults.guarded("find a session"):
            frozen = Frozen.from_state(state)
            if frozen.ticket and not self.client.disabled:
                return self._runs.find(frozen.ticket) or self._resumed(state, frozen)
        return None

    def session_of(self, state: object) -> Session | None:
        """The session of that run."""
        run = self.run_of(state)
        return run.session if run else None

    def ended(self, run: Run, summary: SessionSummary, validated: bool | None) -> None:
        """The run's session was completed; without a verdict it stays here to await one."""
        run.is_ended = True
        if validated is not None:
            self._runs.forget(run)
        self._tell([summary])

    def complete(self, validated: bool, detail: str) -> SessionSummary:
        """Ends every run that is not at work, with this verdict."""
        runs = self._runs.take_idle()
        self._tell(self._each(runs, lambda run: self._complete(run, validated, detail)))
        return self.last_summary

    async def acomplete(self, validated: bool, detail: str) -> SessionSummary:
        """The same without blocking the event loop."""
        runs = self._runs.take_idle()
        ends = await asyncio.gather(*(self._acomplete(run, validated, detail) for run in runs))
        self._tell(ends)
        return self.last_summary

    def close(self) -> None:
        """Ends what is still open without a verdict; closes the client if it is our own."""
        stopped = [run for run in self._runs.take_idle() if not run.is_ended]
        self._tell(self._each(stopped, self._end))
        with self._lock:
            client, self._own_client = self._own_client, None
        if client is not None:
            with self._faults.guarded("let go of the sidecar"):
                client.close()

    def _resumed(self, state: Any, frozen: Frozen) -> Run:
        """A run that began in another process, or so long ago that it was forgotten."""
        steps = _translate.steps_since(state["messages"], frozen.first_message_id)
        return self._runs.add(Run(self.client.resume_session(frozen.ticket), steps=steps))

    def _each(
        self, runs: Sequence[Run], end: Callable[[Run], SessionSummary]
    ) -> Sequence[SessionSummary]:
        if len(runs) == 1:
            return [end(runs[0])]
        with (
            self._faults.guarded("end sessions"),
            ThreadPoolExecutor(max_workers=MOST_ENDINGS) as pool,
        ):
            return list(pool.map(end, runs))
        return ()

    def _end(self, run: Run) -> SessionSummary:
        with self._faults.guarded("end a session"):
            return run.session.complete()
        return SessionSummary()

    def _complete(self, run: Run, validated: bool, detail: str) -> SessionSummary:
        with self._faults.guarded("report a validation"):
            if not run.is_ended:
                run.session.complete()
            return run.session.report_validation(validated, detail)
        return SessionSummary()

    async def _acomplete(self, run: Run, validated: bool, detail: str) -> SessionSummary:
        with self._faults.guarded("report a validation"):
            if not run.is_ended:
                await run.session.acomplete()
            return await run.session.areport_validation(validated, detail)
        return SessionSummary()

    def _tell(self, summaries: Sequence[SessionSummary]) -> None:
        for summary in summaries:
            self.last_summary = summary
            if summary.line:
                log.info("%s", summary.line)
