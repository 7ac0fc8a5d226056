"""Reports to a run's session what its agent does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import HumanMessage

from seamark import Body, Outcome, ToolCalled, ToolReturned, UserSaid
from seamark_langgraph import _translate
from seamark_langgraph._guard import Faults
from seamark_langgraph._runs import Run


class Reports:
    """Observes without ever failing: what cannot be read is reported as far as it can be."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def said(self, run: Run, messages: Sequence[HumanMessage]) -> None:
        """A person said something."""
        for message in messages:
            self._observe(run, UserSaid(text=""), partial(_translate.user_said, message))

    def answered(self, run: Run, response: object) -> None:
        """A model call ended."""
        with self._faults.guarded("report a model call"):
            answers = _translate.answers_of(response)
            for message in answers:
                with self._faults.guarded("read what the model said"):
                    for text in _translate.texts_produced(message):
                        run.session.observe(text)
            run.session.observe(_translate.step_completed(answers))

    def called(self, run: Run, call: Mapping[str, Any]) -> str:
        """A tool call begins, or goes on after an interrupt; returns its id."""
        call_id = _translate.call_id_of(call)
        if run.opens(call_id):
            least = ToolCalled(call_id=call_id, tool=str(call.get("name") or ""))
            self._observe(run, least, partial(_translate.tool_called, call))
        return call_id

    def returned(self, run: Run, call_id: str, result: object) -> None:
        """A tool call gave a result."""
        run.closes(call_id)
        least = ToolReturned(call_id=call_id, outcome=Outcome.OK)
        self._observe(run, least, partial(_translate.tool_returned, call_id, result))

    def raised(self, run: Run, call_id: str, error: Exception) -> None:
        """A tool call ended in an exception of the app."""
        run.closes(call_id)
        least = ToolReturned(call_id=call_id, outcome=Outcome.ERROR, result=type(error).__name__)
        self._observe(run, least, partial(_translate.tool_raised, call_id, error))

    def _observe(self, run: Run, least: Body, read: Callable[[], Body]) -> None:
        body = least
        with self._faults.guarded("read what the agent did"):
            body = read()
        with self._faults.guarded("report what the agent did"):
            run.session.observe(body)
