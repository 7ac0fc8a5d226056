"""What the demo claims, proved with real sidecars, agents, repositories and test runs."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from seamark_demo import runs
from seamark_demo.workshop import PREFIX, Workshop

HINT = "python -m harbor.lock"
REWORDED = (
    "fees.json is only a draft; nothing changes before somebody calls `python -m harbor.lock`.",
    "Prices come from a frozen table. Run python -m harbor.lock whenever fees.json was touched.",
)
ANOTHER_FILE = "After changing `README.md`, `make pages` must be run."
NO_COMMAND = "Whoever edits `fees.json` should tell the harbour office on the same day."
USELESS_COMMAND = "`python -m harbor.quote` goes with `fees.json`."


@pytest.fixture(scope="module")
def learnt():
    """A workshop in which the first run has been made."""
    with Workshop.opened() as workshop:
        yield workshop, runs.learn(workshop)


@pytest.fixture(scope="module")
def control(learnt):
    workshop, _ = learnt
    return runs.control(workshop)


@pytest.fixture
def scratch():
    """A temporary directory of its own; short, because a socket lives in it."""
    directory = Path(tempfile.mkdtemp(prefix="sm-"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def workshop():
    with Workshop.opened() as workshop:
        yield workshop


def effort(run):
    return run.tool_calls, run.failed_commands


def test_the_first_run_walks_into_the_trap_and_gets_out_by_itself(learnt):
    _, run = learnt

    assert run.tests_pass
    assert run.failed_commands >= 2
    assert run.injections == ()


def test_the_first_run_teaches_the_command_in_the_agents_own_words(learnt):
    _, run = learnt

    promoted = [fate.content for fate in run.account.fates if fate.fate == "promoted"]

    assert any(HINT in content and "fees.json" in content for content in promoted)


def test_with_memory_another_task_takes_less_of_everything(learnt, control):
    workshop, _ = learnt

    run = runs.with_memory(workshop)

    assert run.tests_pass
    assert control.tests_pass
    assert run.tool_calls < control.tool_calls
    assert run.failed_commands < control.failed_commands
    assert run.message_tokens < control.message_tokens
    assert run.injections
    assert all(each.point and each.memory_id and each.citation for each in run.injections)


def test_without_injection_the_second_run_is_as_long_as_the_control(learnt, control):
    workshop, _ = learnt

    run = runs.with_memory(workshop, inject=False)

    assert effort(run) == effort(control)
    assert run.injections == ()


def test_the_control_run_has_no_session_at_all(control):
    assert control.account.session_id == ""


@pytest.mark.parametrize("words", REWORDED)
def test_a_memory_in_other_words_helps_as_well(workshop, control, words):
    remember(workshop, words)

    run = runs.with_memory(workshop)

    assert run.tests_pass
    assert run.tool_calls < control.tool_calls
    assert run.failed_commands == 0


def test_unrelated_memories_do_not_help(workshop, control):
    remember(workshop, ANOTHER_FILE, file="README.md")
    remember(workshop, NO_COMMAND)

    run = runs.with_memory(workshop)

    assert run.injections
    assert effort(run) == effort(control)


def test_a_memory_with_a_useless_command_costs_that_command(workshop, control):
    remember(workshop, USELESS_COMMAND)

    run = runs.with_memory(workshop)

    assert run.tests_pass
    assert effort(run) == (control.tool_calls + 1, control.failed_commands)


def test_a_run_whose_tests_fail_teaches_nothing(workshop):
    task = runs.Task(title="impossible", text=runs.RAISE_A_FEE.text.replace("2.65", "2.655"))

    run = runs.work(workshop, "learn", task)

    assert not run.tests_pass
    with workshop.desk() as desk:
        assert desk.memory_count() == 0


def test_json_is_one_object_of_the_promised_shape(scratch):
    done = demo(scratch, "--json")

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.keys() == {"runs", "memories"}
    assert [run["name"] for run in answer["runs"]] == ["learn", "with_memory", "control"]
    assert answer["memories"] >= 1
    for run in answer["runs"]:
        counts = {"tool_calls", "failed_commands", "message_tokens"}
        assert run.keys() == {"name", "wall_seconds", "injections"} | counts
        assert all(isinstance(run[key], int) for key in counts)
        assert run["wall_seconds"] > 0
        for each in run["injections"]:
            assert each.keys() == {"point", "memory_id", "citation", "reason"}
    assert answer["runs"][1]["injections"]


def test_for_people_it_fits_eighty_columns_without_colours(scratch):
    done = demo(scratch)

    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    for words in ("tool calls", "failed commands", "tokens in messages (approx.)", HINT):
        assert words in done.stdout


def test_the_demo_is_repeatable_and_leaves_nothing_behind(scratch, learnt, control):
    _, first = learnt

    answer = json.loads(demo(scratch, "--json").stdout)

    again = [(run["tool_calls"], run["failed_commands"]) for run in answer["runs"]]
    assert again[0] == effort(first)
    assert again[2] == effort(control)
    assert list(scratch.iterdir()) == []
    assert processes_of(scratch) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_half_way_cleans_up(scratch, number):
    with start(scratch) as process:
        wait_for(lambda: list(scratch.glob(f"{PREFIX}*/checkout-1")))
        assert processes_of(scratch)
        process.send_signal(number)
        process.communicate(timeout=30)

    assert process.returncode == 128 + number
    assert list(scratch.iterdir()) == []
    assert processes_of(scratch) == []


def test_keep_leaves_the_directory_and_says_where(scratch):
    done = demo(scratch, "--json", "--keep")

    (kept,) = scratch.iterdir()
    assert str(kept) in done.stderr
    assert (kept / "checkout-3" / "fees.json").exists()
    assert processes_of(scratch) == []


def test_a_sidecar_that_ends_at_once_is_explained_and_cleaned_up(scratch, tmp_path):
    broken = tmp_path / "seamark_sidecar"
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "__main__.py").write_text("raise SystemExit('the harbour is closed')", "utf-8")

    done = demo(scratch, "--json", PYTHONPATH=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert "the sidecar ended with code 1\nthe harbour is closed" in done.stderr
    assert list(scratch.iterdir()) == []


def test_a_temporary_directory_with_too_long_a_path_is_named(scratch):
    deep = scratch / ("d" * 100)
    deep.mkdir()

    done = demo(deep, "--json")

    assert (done.returncode, done.stdout) == (1, "")
    assert "set TMPDIR to a shorter one" in done.stderr
    assert list(deep.iterdir()) == []


def test_one_run_with_failing_tests_fails_the_demo(control):
    failed = dataclasses.replace(control, tests_pass=False)

    assert runs.Demo(runs=[control, control], memories=0).succeeded
    assert not runs.Demo(runs=[control, failed], memories=0).succeeded


def remember(workshop, words, file="fees.json"):
    with workshop.desk() as desk:
        desk.remember(workshop.clone(), words, files=(file,))


def demo(scratch, *arguments, **environ):
    with start(scratch, *arguments, **environ) as process:
        stdout, stderr = process.communicate(timeout=100)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def start(scratch, *arguments, **environ):
    return subprocess.Popen(
        [sys.executable, "-m", "seamark_demo", *arguments],
        env=os.environ | {"TMPDIR": str(scratch)} | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def processes_of(scratch):
    """Processes that work somewhere in this directory, also when it is gone."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:  # It ended meanwhile, or is somebody else's.
            continue
        if place.is_relative_to(scratch):
            found.append(process.name)
    return found


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
