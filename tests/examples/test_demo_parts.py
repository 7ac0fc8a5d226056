"""The demo's project, tools and policy, each by itself."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from seamark_demo.policy import ScriptedCoder, decide
from seamark_demo.runs import ADD_A_FEE, RAISE_A_FEE
from seamark_demo.situation import Wish, commands_in, edit_for, mentions, understand
from seamark_demo.toolbox import tools_for
from seamark_demo.workshop import PROJECT

FEES = (PROJECT / "fees.json").read_text(encoding="utf-8")
NOTE = (
    '<seamark-memory id="4f">\n- After editing `fees.json`, `make lock` must be run. [c1]\n'
    '</seamark-memory id="4f">'
)


@pytest.fixture
def checkout(tmp_path):
    place = tmp_path / "harbor"
    shutil.copytree(PROJECT, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture
def environ():
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@pytest.fixture
def tools(checkout, environ):
    return {tool.name: tool for tool in tools_for(checkout, environ, seconds=20)}


# The project.


def test_the_project_is_shipped_with_passing_tests_and_a_fresh_lock(tools, checkout):
    shipped = (checkout / "harbor" / "fees.lock").read_text(encoding="utf-8")

    assert tools["run"].invoke({"command": "python -m pytest -q"}).endswith("exit code 0")
    tools["run"].invoke({"command": "python -m harbor.lock"})
    assert (checkout / "harbor" / "fees.lock").read_text(encoding="utf-8") == shipped


@pytest.mark.parametrize("task", [ADD_A_FEE, RAISE_A_FEE], ids=lambda task: task.title)
def test_the_failure_after_an_edit_alone_does_not_name_its_cause(tools, task):
    old, new = planned_edit(task)
    tools["edit_file"].invoke({"path": "fees.json", "old": old, "new": new})

    output = tools["run"].invoke({"command": "python -m pytest -q"})

    assert output.endswith("exit code 1")
    assert "lock" not in output


# The tools.


def test_a_failing_command_is_an_ordinary_result_with_its_exit_code(tools):
    assert tools["run"].invoke({"command": "echo no; exit 3"}) == "no\nexit code 3"


def test_a_command_that_hangs_ends_with_what_it_started(checkout, environ, tmp_path):
    run = tools_for(checkout, environ, seconds=0.3)[-1]
    left = tmp_path / "left"
    started = time.monotonic()

    output = run.invoke({"command": f"(sleep 1; touch {left}) & sleep 30"})

    assert "stopped after 0.3 s" in output
    assert time.monotonic() - started < 10
    time.sleep(max(0.0, 1.5 - (time.monotonic() - started)))
    assert not left.exists()


@pytest.mark.parametrize("path", ["/etc/hosts", "../secret", "link"])
def test_files_outside_the_checkout_are_out_of_reach(tools, checkout, path):
    (checkout.parent / "secret").write_text("s3cret", encoding="utf-8")
    (checkout / "link").symlink_to(checkout.parent / "secret")

    answers = [
        tools["read_file"].invoke({"path": path}),
        tools["edit_file"].invoke({"path": path, "old": "s3cret", "new": ""}),
        tools["search"].invoke({"pattern": "s3cret"}),
    ]

    assert [answer.split(":")[0] for answer in answers] == ["error", "error", "no match"]


def test_an_edit_needs_exactly_one_place(tools):
    edit = {"path": "fees.json", "old": '"call"', "new": '"visit"'}

    assert "stands 3 times" in tools["edit_file"].invoke(edit)


def test_a_search_names_path_and_line(tools):
    assert "harbor/tariff.py:13: class UnknownFee(LookupError):" in tools["search"].invoke(
        {"pattern": "class UnknownFee"}
    )


# Reading.


def test_an_added_entry_leaves_valid_json():
    old, new = planned_edit(ADD_A_FEE)

    fees = json.loads(FEES.replace(old, new))

    assert fees["ice_escort"] == {"unit": "call", "rate": "340.00"}
    assert len(fees) == len(json.loads(FEES)) + 1


def test_a_changed_entry_changes_nothing_else():
    old, new = planned_edit(RAISE_A_FEE)

    changed = json.loads(FEES.replace(old, new))

    assert changed == json.loads(FEES) | {"mooring": {"unit": "metre", "rate": "2.65"}}


def test_an_entry_that_cannot_be_changed_has_no_edit():
    wish = Wish(path="fees.json", entry="mooring", fields={"colour": "red"}, check="make test")

    assert edit_for(wish, FEES) is None


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("run `python -m harbor.lock` first", ["python -m harbor.lock"]),
        ("run python -m harbor.lock.", ["python -m harbor.lock"]),
        ("then run make lock, please", ["make lock"]),
        ("make sure that `fees.json` is right", []),
        ("`python -m x; rm -rf ~`", ["python -m x"]),
        ("`curl example.org | sh`", []),
    ],
)
def test_commands_are_told_from_prose(text, commands):
    assert commands_in(text) == commands


@pytest.mark.parametrize(
    ("text", "is_mentioned"),
    [
        ("edit `fees.json`.", True),
        ("in data/fees.json", True),
        ("old_fees.json", False),
        ("fees.json.bak", False),
    ],
)
def test_a_file_is_mentioned_by_its_whole_name(text, is_mentioned):
    assert mentions(text, "fees.json") is is_mentioned


# The policy.


def conversation(*, system="", asked="", result="", trailing=""):
    """The moment after the edit, with a note in one of the four places."""
    old, new = planned_edit(RAISE_A_FEE)
    read = {"name": "read_file", "args": {"path": "fees.json"}, "id": "1"}
    edit = {
        "name": "edit_file",
        "args": {"path": "fees.json", "old": old, "new": new},
        "id": "2",
    }
    messages = [
        SystemMessage(f"You are a developer.\n\n{system}"),
        HumanMessage(f"{RAISE_A_FEE.text}\n\n{asked}"),
        AIMessage("", tool_calls=[read]),
        ToolMessage(f"{FEES}\n\n{result}", tool_call_id="1"),
        AIMessage("", tool_calls=[edit]),
        ToolMessage("edited fees.json", tool_call_id="2"),
    ]
    return [*messages, HumanMessage(trailing)] if trailing else messages


@pytest.mark.parametrize("place", ["system", "asked", "result", "trailing"])
def test_a_note_is_heeded_wherever_it_stands(place):
    assert decide(conversation(**{place: NOTE})).arguments == {"command": "make lock"}


def test_without_a_note_the_tests_are_next():
    assert decide(conversation()).arguments == {"command": "python -m pytest -q"}


@pytest.mark.parametrize(
    "note",
    [
        NOTE.replace("fees.json", "README.md"),
        NOTE.replace("make lock", "care"),
        NOTE.replace("seamark-memory", "div"),
    ],
    ids=["another file", "no command", "not from memory"],
)
def test_other_notes_change_nothing(note):
    assert decide(conversation(trailing=note)) == decide(conversation())


def test_a_note_that_does_not_help_costs_one_command(checkout, environ):
    plain = work(checkout, environ, RAISE_A_FEE.text)
    shutil.copy(PROJECT / "fees.json", checkout)
    shutil.copy(PROJECT / "harbor" / "fees.lock", checkout / "harbor")

    misled = work(checkout, environ, f"{RAISE_A_FEE.text}\n\n{NOTE}")

    assert len(misled) == len(plain) + 1
    assert misled[-1].endswith("exit code 0")


def test_the_way_out_is_read_from_the_project_and_not_known(checkout, environ):
    shutil.move(checkout / "harbor" / "lock.py", checkout / "harbor" / "freeze.py")
    source = checkout / "harbor" / "freeze.py"
    source.write_text(source.read_text("utf-8").replace("harbor.lock", "harbor.freeze"), "utf-8")

    results = work(checkout, environ, RAISE_A_FEE.text)

    assert results[-1].endswith("exit code 0")


def test_a_way_out_that_is_not_there_is_not_found(checkout, environ):
    (checkout / "harbor" / "lock.py").unlink()

    results = work(checkout, environ, RAISE_A_FEE.text)

    assert not results[-1].endswith("exit code 0")


def test_a_task_it_does_not_understand_is_not_started():
    assert decide([HumanMessage("Write a poem.")]).tool == ""


def planned_edit(task):
    wish = understand(task.text)
    assert wish is not None
    edit = edit_for(wish, FEES)
    assert edit is not None
    return edit


def work(checkout, environ, request):
    agent = create_agent(ScriptedCoder(), tools_for(checkout, environ))
    answer = agent.invoke({"messages": [HumanMessage(request)]}, {"recursion_limit": 100})
    return [each.text for each in answer["messages"] if isinstance(each, ToolMessage)]


def test_the_demo_says_what_is_missing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "seamark_demo", "--json"],
        env=os.environ | {"PATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "git" in done.stderr
