"""When a session begins, goes on and ends, and what the app says of its work."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from seamark import Outcome, SessionState, ToolCalled, ToolReturned, UserSaid
from seamark.testing import RecordingSidecar
from seamark.wire.v1.sidecar_pb2 import CompleteSessionRequest
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.conftest import read_file
from tests.integration.langgraph.scripted import ASKED, THREAD, WAYS, ScriptedModel, calls, play

PASSED = CompleteSessionRequest.VALIDATION_PASSED
FAILED = CompleteSessionRequest.VALIDATION_FAILED
UNSAID = CompleteSessionRequest.VALIDATION_UNSPECIFIED


@tool
def ask(question: str) -> str:
    """Asks a person."""
    return f"the person said {interrupt(question)}"


def agent_of(middleware: Any, *, script: Any = None, tools: Any = (), **more: Any) -> Any:
    model = ScriptedModel(script=script or [AIMessage("ok")])
    return create_agent(model, list(tools), middleware=[middleware], **more)


def validations(sidecar: RecordingSidecar) -> list[Any]:
    return [request.validation for request in sidecar.requests("CompleteSession")]


def senders() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "seamark-sender"}


# What the app says of the work.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("answer", "expected"), [(True, PASSED), (False, FAILED)])
async def test_validate_is_asked_once_at_the_end(way, is_async, answer, expected, client, sidecar):
    asked = []

    def validate() -> Any:
        asked.append(len(sidecar.requests("CompleteSession")))
        return answer

    async def avalidate():
        await asyncio.sleep(0)
        return validate()

    middleware = SeamarkMiddleware(client=client, validate=avalidate if is_async else validate)
    await play(agent_of(middleware), way, ASKED)
    assert asked == [0]
    assert validations(sidecar) == [expected]
    assert middleware.last_summary.state is SessionState.CLOSED


@pytest.mark.parametrize("way", WAYS)
async def test_a_raising_validate_is_warned_of_and_leaves_the_verdict_open(
    way, client, sidecar, caplog
):
    def validate():
        raise FileNotFoundError("pytest is not installed")

    middleware = SeamarkMiddleware(client=client, validate=validate)
    ended = await play(agent_of(middleware), way, ASKED)
    assert ended[-1].content == "ok"
    assert validations(sidecar) == [UNSAID]
    assert "validate callable" in caplog.text
    assert "pytest is not installed" in caplog.text
    assert middleware.complete(validated=True).state is SessionState.CLOSED


def test_a_validate_that_forgets_to_answer_leaves_the_verdict_open(client, sidecar):
    silent: Any = lambda: None  # noqa: E731
    agent_of(SeamarkMiddleware(client=client, validate=silent)).invoke(ASKED)
    assert validations(sidecar) == [UNSAID]


async def test_a_validate_that_blocks_does_not_block_the_event_loop(client, sidecar):
    released = threading.Event()
    middleware = SeamarkMiddleware(client=client, validate=lambda: released.wait(10))
    agent = agent_of(middleware)
    run = asyncio.ensure_future(agent.ainvoke(ASKED))
    await asyncio.sleep(0.05)
    released.set()
    await run
    assert validations(sidecar) == [PASSED]


async def test_an_async_validate_works_where_a_loop_is_already_running(client, sidecar):
    async def validate():
        return True

    agent_of(SeamarkMiddleware(client=client, validate=validate)).invoke(ASKED)
    assert validations(sidecar) == [PASSED]


@pytest.mark.parametrize("way", WAYS)
async def test_validate_may_ask_a_person(way, client, sidecar):
    middleware = SeamarkMiddleware(client=client, validate=lambda: interrupt("good?") == "yes")
    agent = agent_of(middleware, checkpointer=InMemorySaver())
    await play(agent, way, ASKED, THREAD)
    assert not validations(sidecar)
    await play(agent, way, Command(resume="yes"), THREAD)
    assert validations(sidecar) == [PASSED]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("passed", [True, False])
async def test_complete_reports_the_verdict_after_the_run(way, passed, client, sidecar):
    middleware = SeamarkMiddleware(client=client)
    await play(agent_of(middleware), way, ASKED)
    assert validations(sidecar) == [UNSAID]
    assert middleware.last_summary.state is SessionState.PENDING
    if way.startswith("a"):
        summary = await middleware.acomplete(validated=passed, detail="make test")
    else:
        summary = middleware.complete(validated=passed, detail="make test")
    assert summary.state is SessionState.CLOSED
    assert summary == middleware.last_summary
    (report,) = sidecar.requests("ReportValidation")
    assert (report.passed, report.detail) == (passed, "make test")


def test_a_verdict_is_given_once(client, sidecar):
    middleware = SeamarkMiddleware(client=client)
    agent_of(middleware).invoke(ASKED)
    first = middleware.complete(validated=True)
    assert middleware.complete(validated=False) == first
    assert [report.passed for report in sidecar.requests("ReportValidation")] == [True]


def test_what_validate_decided_is_not_decided_again(client, sidecar):
    middleware = SeamarkMiddleware(client=client, validate=lambda: True)
    agent_of(middleware).invoke(ASKED)
    middleware.complete(validated=False)
    assert validations(sidecar) == [PASSED]
    assert not sidecar.requests("ReportValidation")


def test_complete_speaks_for_every_run_that_awaits_it(client, sidecar):
    middleware = SeamarkMiddleware(client=client)
    agent = agent_of(middleware)
    for _ in range(3):
        agent.invoke(ASKED)
    middleware.complete(validated=True)
    reported = {report.session_id for report in sidecar.requests("ReportValidation")}
    assert reported == {start.session_id for start in sidecar.requests("StartSession")}
    assert len(reported) == 3


def test_complete_without_any_run_says_that_nothing_is_known(client):
    assert SeamarkMiddleware(client=client).complete(validated=True).state is SessionState.UNKNOWN


@pytest.mark.parametrize("way", WAYS)
async def test_complete_ends_a_run_that_an_exception_stopped(way, client, sidecar, tools):
    middleware = SeamarkMiddleware(client=client)
    agent = agent_of(middleware, script=[calls(("explode", "c1", {"why": "luck"}))], tools=tools)
    with pytest.raises(ValueError, match="bad luck"):
        await play(agent, way, ASKED)
    assert not sidecar.requests("CompleteSession")
    if way.startswith("a"):
        await middleware.acomplete(validated=False)
    else:
        middleware.complete(validated=False)
    assert validations(sidecar) == [UNSAID]
    assert [report.passed for report in sidecar.requests("ReportValidation")] == [False]


def test_complete_leaves_a_run_alone_whose_tool_is_at_work(client, sidecar):
    reached, leave = threading.Event(), threading.Event()

    @tool
    def slow() -> str:
        """Takes its time."""
        reached.set()
        leave.wait(10)
        return "done"

    middleware = SeamarkMiddleware(client=client)
    busy = agent_of(middleware, script=[calls(("slow", "c1", {})), AIMessage("ok")], tools=[slow])
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(busy.invoke, ASKED)
        assert reached.wait(10)
        agent_of(middleware).invoke(ASKED)
        middleware.complete(validated=True)
        assert len(sidecar.requests("ReportValidation")) == 1
        leave.set()
        running.result(10)
    middleware.complete(validated=False)
    assert [report.passed for report in sidecar.requests("ReportValidation")] == [True, False]


def test_close_ends_what_is_open_without_a_verdict(client, sidecar, tools):
    middleware = SeamarkMiddleware(client=client)
    agent = agent_of(middleware, script=[calls(("explode", "c1", {"why": "luck"}))], tools=tools)
    with pytest.raises(ValueError, match="bad luck"):
        agent.invoke(ASKED)
    middleware.close()
    assert validations(sidecar) == [UNSAID]
    assert not sidecar.requests("ReportValidation")


def test_the_end_of_each_session_is_told_in_the_log(client, caplog):
    caplog.set_level(logging.INFO, logger="seamark")
    middleware = SeamarkMiddleware(client=client)
    agent_of(middleware).invoke(ASKED)
    middleware.complete(validated=True)
    told = [each.message for each in caplog.records if each.name == "seamark"]
    assert told == ["session pending", "session closed"]


def test_a_client_made_by_the_middleware_is_made_at_first_use_and_closed_with_it(
    sidecar, monkeypatch
):
    middleware = SeamarkMiddleware()
    monkeypatch.setenv("SEAMARK_ADDRESS", sidecar.address)
    monkeypatch.setenv("SEAMARK_SESSION_START_MS", "5000")
    before = senders()
    agent_of(middleware).invoke(ASKED)
    (sender,) = senders() - before
    middleware.close()
    sender.join(timeout=5)
    assert not sender.is_alive()
    assert len(sidecar.requests("StartSession")) == 1
    assert UserSaid(text="fix the bug") in sidecar.bodies()


def test_a_client_of_the_app_outlives_the_middleware(client, sidecar):
    middleware = SeamarkMiddleware(client=client)
    agent_of(middleware).invoke(ASKED)
    middleware.close()
    agent_of(SeamarkMiddleware(client=client, validate=lambda: True)).invoke(ASKED)
    assert validations(sidecar) == [UNSAID, PASSED]


# One session per run.


@pytest.mark.parametrize("way", WAYS)
async def test_two_turns_of_one_thread_are_two_sessions(way, client, sidecar):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[AIMessage("one"), AIMessage("two")],
        checkpointer=InMemorySaver(),
    )
    await play(agent, way, {"messages": "first task"}, THREAD)
    await play(agent, way, {"messages": "second task"}, THREAD)
    first, second = sidecar.requests("StartSession")
    assert (first.task, second.task) == ("first task", "second task")
    assert first.session_id != second.session_id
    for start, task in ((first, "first task"), (second, "second task")):
        said = [b for b in sidecar.bodies(start.session_id) if isinstance(b, UserSaid)]
        assert said == [UserSaid(text=task)]
    ended = [request.events.session_id for request in sidecar.requests("CompleteSession")]
    assert ended == [first.session_id, second.session_id]


def test_a_thread_that_ended_and_is_asked_nothing_new_is_a_new_session(client, sidecar):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[AIMessage("one"), AIMessage("two")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ASKED, THREAD)
    agent.invoke({"messages": []}, THREAD)
    first, second = sidecar.requests("StartSession")
    assert (first.task, second.task) == ("fix the bug", "")


def test_threads_that_share_a_middleware_keep_their_events_apart(client, sidecar, tools):
    runs = 12
    agent = agent_of(
        SeamarkMiddleware(client=client, validate=lambda: True),
        script=[calls(("read_file", "c1", {"path": "a.py"})), AIMessage("ok")],
        tools=tools,
        checkpointer=InMemorySaver(),
    )

    def run(number):
        return agent.invoke(
            {"messages": f"task {number}"}, {"configurable": {"thread_id": str(number)}}
        )

    with ThreadPoolExecutor(max_workers=6) as pool:
        ended = list(pool.map(run, range(runs)))
    assert all(each["messages"][-1].content == "ok" for each in ended)
    starts = sidecar.requests("StartSession")
    assert {start.task for start in starts} == {f"task {number}" for number in range(runs)}
    for start in starts:
        assert [type(body).__name__ for body in sidecar.bodies(start.session_id)] == [
            "UserSaid",
            "StepCompleted",
            "ToolCalled",
            "ToolReturned",
            "TextProduced",
            "StepCompleted",
        ]
        assert UserSaid(text=start.task) in sidecar.bodies(start.session_id)
    assert validations(sidecar) == [PASSED] * runs


async def test_tasks_that_share_a_middleware_keep_their_events_apart(client, sidecar, tools):
    agent = agent_of(
        SeamarkMiddleware(client=client, validate=lambda: True),
        script=[calls(("read_file", "c1", {"path": "a.py"})), AIMessage("ok")],
        tools=tools,
    )
    await asyncio.gather(*(agent.ainvoke({"messages": f"task {n}"}) for n in range(12)))
    starts = sidecar.requests("StartSession")
    assert len({start.session_id for start in starts}) == 12
    for start in starts:
        assert len(sidecar.bodies(start.session_id)) == 6
        assert sidecar.bodies(start.session_id)[0] == UserSaid(text=start.task)


# Interrupts.


@pytest.mark.parametrize("way", WAYS)
async def test_an_interrupted_call_is_counted_once_and_is_no_failure(way, client, sidecar):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[calls(("ask", "c1", {"question": "sure?"})), AIMessage("ok")],
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    await play(agent, way, ASKED, THREAD)
    assert client.flush(5)
    assert not [body for body in sidecar.bodies() if isinstance(body, ToolReturned)]
    ended = await play(agent, way, Command(resume="yes"), THREAD)
    assert ended[-2].content == "the person said yes\n\n[tool memory]"
    assert [body for body in sidecar.bodies() if isinstance(body, ToolCalled | ToolReturned)] == [
        ToolCalled(call_id="c1", tool="ask", arguments_json='{"question": "sure?"}'),
        ToolReturned(call_id="c1", outcome=Outcome.OK, result="the person said yes"),
    ]
    assert len(sidecar.requests("StartSession")) == 1
    assert len(sidecar.requests("CompleteSession")) == 1


def test_only_the_interrupted_one_of_parallel_calls_runs_again(client, sidecar, tools):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[
            calls(("read_file", "c1", {"path": "a"}), ("ask", "c2", {"question": "sure?"})),
            AIMessage("ok"),
        ],
        tools=[*tools, ask],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ASKED, THREAD)
    agent.invoke(Command(resume="yes"), THREAD)
    bodies = sidecar.bodies()
    assert sorted(b.call_id for b in bodies if isinstance(b, ToolCalled)) == ["c1", "c2"]
    assert sorted(b.call_id for b in bodies if isinstance(b, ToolReturned)) == ["c1", "c2"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_resumed_run_keeps_its_texts_and_its_step(way, client, sidecar):
    model = ScriptedModel(script=[calls(("ask", "c1", {"question": "?"})), AIMessage("ok")])
    agent = create_agent(
        model,
        [ask],
        middleware=[SeamarkMiddleware(client=client)],
        checkpointer=InMemorySaver(),
    )
    await play(agent, way, ASKED, THREAD)
    sidecar.system = "[newer system]"
    await play(agent, way, Command(resume="yes"), THREAD)
    assert [received[0].content for received in model.seen] == ["[system memory]"] * 2
    assert [request.step for request in sidecar.requests("PrepareStep")] == [0, 1]


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_goes_on_in_another_process_with_the_same_session(way, client, sidecar):
    saver = InMemorySaver()
    script = [calls(("ask", "c1", {"question": "?"})), AIMessage("ok")]
    first = agent_of(
        SeamarkMiddleware(client=client), script=script, tools=[ask], checkpointer=saver
    )
    await play(first, way, ASKED, THREAD)
    assert client.flush(5)
    # As another process would: nothing is shared but the checkpoints.
    other_client = sidecar.client(close_deadline=10.0)
    middleware = SeamarkMiddleware(client=other_client, validate=lambda: True)
    second = agent_of(middleware, script=script, tools=[ask], checkpointer=saver)
    await play(second, way, Command(resume="yes"), THREAD)
    (session_id,) = {start.session_id for start in sidecar.requests("StartSession")}
    (end,) = sidecar.requests("CompleteSession")
    assert (end.events.session_id, end.validation) == (session_id, PASSED)
    assert ToolReturned(
        call_id="c1", outcome=Outcome.OK, result="the person said yes"
    ) in sidecar.bodies(session_id)
    other_client.close()


def test_another_process_goes_on_counting_steps_where_the_first_stopped(client, sidecar):
    other_client = sidecar.client(close_deadline=10.0, step_deadline=10.0)

    @tool
    def ask_and_wait(question: str) -> str:
        """Asks a person; then waits until the sidecar knows the process."""
        answer = interrupt(question)
        time.sleep(0.05)
        other_client.flush(5)
        return str(answer)

    saver = InMemorySaver()
    script = [
        calls(("read_file", "c1", {"path": "a"})),
        calls(("ask_and_wait", "c2", {"question": "?"})),
        AIMessage("ok"),
    ]
    for each, asked in ((client, ASKED), (other_client, Command(resume="yes"))):
        middleware = SeamarkMiddleware(client=each)
        agent = agent_of(
            middleware, script=script, tools=[read_file, ask_and_wait], checkpointer=saver
        )
        agent.invoke(asked, THREAD)
    assert [request.step for request in sidecar.requests("PrepareStep")] == [0, 1, 2]
    other_client.close()


def test_complete_ends_an_interrupted_run(client, sidecar):
    middleware = SeamarkMiddleware(client=client)
    agent = agent_of(
        middleware,
        script=[calls(("ask", "c1", {"question": "?"}))],
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ASKED, THREAD)
    assert middleware.complete(validated=False).state is SessionState.CLOSED
    assert len(sidecar.requests("CompleteSession")) == 1


def test_a_new_request_after_an_interrupt_is_a_new_session(client, sidecar):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[calls(("ask", "c1", {"question": "?"})), AIMessage("ok")],
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ASKED, THREAD)
    answer = ToolMessage("never mind", tool_call_id="c1")
    agent.invoke({"messages": [answer, {"role": "user", "content": "do this"}]}, THREAD)
    assert [start.task for start in sidecar.requests("StartSession")] == ["fix the bug", "do this"]


def test_an_answer_given_in_the_tools_place_goes_on_with_the_session(client, sidecar):
    agent = agent_of(
        SeamarkMiddleware(client=client),
        script=[calls(("ask", "c1", {"question": "?"})), AIMessage("ok")],
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ASKED, THREAD)
    agent.invoke({"messages": [ToolMessage("yes", tool_call_id="c1")]}, THREAD)
    assert len(sidecar.requests("StartSession")) == 1
    assert len(sidecar.requests("CompleteSession")) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_human_in_the_loop_may_hold_a_call_back(way, client, sidecar, tools):
    gate = HumanInTheLoopMiddleware(interrupt_on={"read_file": True})
    agent = create_agent(
        ScriptedModel(script=[calls(("read_file", "c1", {"path": "a"})), AIMessage("ok")]),
        tools,
        middleware=[gate, SeamarkMiddleware(client=client)],
        checkpointer=InMemorySaver(),
    )
    await play(agent, way, ASKED, THREAD)
    ended = await play(agent, way, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert ended[-1].content == "ok"
    assert len(sidecar.requests("StartSession")) == 1
    assert len([body for body in sidecar.bodies() if isinstance(body, ToolCalled)]) == 1
