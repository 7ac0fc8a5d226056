"""The three runs of the demo, and what is measured in each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import LLMResult

from seamark_demo.desk import Account, Injected
from seamark_demo.policy import ScriptedCoder
from seamark_demo.toolbox import tools_for
from seamark_demo.workshop import Workshop
from seamark_langgraph import SeamarkMiddleware

SYSTEM = "You are a developer. Do the task in the project at hand, with the tools you have."
MOST_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a person asks for."""

    title: str
    text: str


ADD_A_FEE = Task(
    title="add a fee",
    text=(
        "Add a fee `ice_escort` to `fees.json`: `unit` is `call`, `rate` is `340.00`. "
        "The tests have to pass: `python -m pytest -q`."
    ),
)
RAISE_A_FEE = Task(
    title="raise a fee",
    text=(
        "Mooring gets dearer: in `fees.json`, set the `rate` of `mooring` to `2.65`. "
        "The tests have to pass: `python -m pytest -q`."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run took, and what the sidecar says about it."""

    name: str
    task: Task
    tool_calls: int
    failed_commands: int
    # By LangChain's approximate count, over all messages of all model calls.
    message_tokens: int
    # From the request to the last answer.
    wall_seconds: float
    tests_pass: bool
    account: Account

    @property
    def injections(self) -> tuple[Injected, ...]:
        return self.account.injected


def learn(workshop: Workshop) -> Run:
    """An agent meets the project for the first time."""
    return work(workshop, "learn", ADD_A_FEE)


def with_memory(workshop: Workshop, *, inject: bool = True) -> Run:
    """Another agent, another clone, another task."""
    return work(workshop, "with_memory", RAISE_A_FEE, inject=inject)


def control(workshop: Workshop) -> Run:
    """The same task with memory off."""
    return work(workshop, "control", RAISE_A_FEE, memory=False)


def work(
    workshop: Workshop, name: str, task: Task, *, memory: bool = True, inject: bool = True
) -> Run:
    """One agent does one task in a clone of its own; the project's tests judge the result."""
    checkout = workshop.clone()
    judge = Judge(workshop, checkout)
    meter = Meter()
    with workshop.client(memory=memory) as client, workshop.desk() as desk:
        before = desk.account().session_id
        seamark = SeamarkMiddleware(
            client=client, project=str(checkout), validate=judge, inject=inject
        )
        agent = create_agent(
            ScriptedCoder(),
            tools_for(checkout, workshop.environ),
            system_prompt=SYSTEM,
            middleware=[seamark],
        )
        started = time.monotonic()
        result = agent.invoke(
            {"messages": [HumanMessage(task.text)]},
            {"callbacks": [meter], "recursion_limit": MOST_STEPS},
        )
        account = desk.account()
    done = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    return Run(
        name=name,
        task=task,
        tool_calls=len(done),
        failed_commands=sum(bool(message.artifact) for message in done),
        message_tokens=meter.message_tokens,
        wall_seconds=meter.last_answer - started,
        tests_pass=judge(),
        # Without memory there is no session, and the latest one is another run's.
        account=account if account.session_id != before else Account(),
    )


class Judge:
    """The project's own tests, run once."""

    def __init__(self, workshop: Workshop, checkout: Path) -> None:
        self._workshop = workshop
        self._checkout = checkout
        self._passed: bool | None = None

    def __call__(self) -> bool:
        if self._passed is None:
            self._passed = self._workshop.tests_pass(self._checkout)
        return self._passed


class Meter(BaseCallbackHandler):
    """Sees what is really sent to the model, with everything that middleware adds."""

    def __init__(self) -> None:
        self.message_tokens = 0
        self.last_answer = 0.0

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.message_tokens += sum(map(count_tokens_approximately, messages))

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        self.last_answer = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """All runs, and how many memories there are after them."""

    runs: Sequence[Run]
    memories: int

    @property
    def succeeded(self) -> bool:
        """Whether every run ended with passing tests."""
        return all(run.tests_pass for run in self.runs)


def run_all(workshop: Workshop, progress: Callable[[str], None]) -> Demo:
    """Runs the three of them, one after another."""
    runs: list[Run] = []
    for each, about in (
        (learn, "an agent meets the project for the first time"),
        (with_memory, "another agent, another task, with memory"),
        (control, "the same task again, with memory off"),
    ):
        progress(f"run {len(runs) + 1} of 3: {about} ...")
        run = each(workshop)
        runs.append(run)
        progress(
            f"  {run.tool_calls} tool calls, {run.failed_commands} failed commands, "
            f"tests {'pass' if run.tests_pass else 'FAIL'}"
        )
    with workshop.desk() as desk:
        return Demo(runs=runs, memories=desk.memory_count())
