"""A program that we run ends when we say, when we are cancelled, and when we die."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from seamark_sidecar.models import child

ENVIRON = {"PATH": os.environ["PATH"]}


def run(directory, program, *, within=30.0, watch=lambda: None):
    child.run(
        [sys.executable, "-c", program],
        directory=directory,
        environ=ENVIRON,
        within=within,
        watch=watch,
    )


def wait_until(happened, seconds=10.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_runs_in_its_directory_with_its_temporary_files_there(tmp_path):
    run(tmp_path, "import os, tempfile; open('here', 'w').write(tempfile.gettempdir())")
    assert (tmp_path / "here").read_text() == str(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_failure_is_told_with_its_last_words(tmp_path):
    with pytest.raises(child.ProgramFailed, match="no such index") as caught:
        run(tmp_path, "import sys; print('x' * 100_000); sys.exit('no such index')")
    assert len(str(caught.value)) < 10_000


def test_a_silent_failure_has_its_code(tmp_path):
    with pytest.raises(child.ProgramFailed, match="code 3"):
        run(tmp_path, "raise SystemExit(3)")
    with pytest.raises(child.ProgramFailed, match="signal 9"):
        run(tmp_path, "import os; os.kill(os.getpid(), 9)")


def test_a_program_that_is_not_there_is_a_failure(tmp_path):
    with pytest.raises(child.ProgramFailed, match=r"/nowhere/uv: No such file"):
        child.run(["/nowhere/uv"], directory=tmp_path, environ={}, within=30, watch=lambda: None)


WITH_A_CHILD = """
import os, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open("pids.new", "w") as file:
    file.write(f"{os.getpid()} {grandchild.pid}")
os.rename("pids.new", "pids")
time.sleep(60)
"""


def pids(directory):
    return [int(pid) for pid in (directory / "pids").read_text().split()]


def test_one_that_takes_too_long_is_killed_with_all_it_started(tmp_path):
    with pytest.raises(child.ProgramFailed, match="within 2 s"):
        run(tmp_path, WITH_A_CHILD, within=2)
    for pid in pids(tmp_path):
        wait_until(lambda pid=pid: is_gone(pid))


def test_what_the_watch_raises_ends_it(tmp_path):
    class Enough(Exception):
        pass

    def watch():
        if (tmp_path / "pids").exists():
            raise Enough

    with pytest.raises(Enough):
        run(tmp_path, WITH_A_CHILD, watch=watch)
    for pid in pids(tmp_path):
        wait_until(lambda pid=pid: is_gone(pid))


def test_it_cannot_write_a_huge_file(tmp_path):
    program = f"open('bomb', 'wb').truncate({child.LARGEST_FILE} + 1)"
    with pytest.raises(child.ProgramFailed, match=r"File too large|signal"):
        run(tmp_path, program)
    assert (tmp_path / "bomb").stat().st_size <= child.LARGEST_FILE


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process of its parent's end"
)
def test_it_dies_with_us(tmp_path):
    (tmp_path / "program.py").write_text(WITH_A_CHILD)
    ours = f"""
import sys
from pathlib import Path
from seamark_sidecar.models import child
child.run([sys.executable, "program.py"], directory=Path({str(tmp_path)!r}), environ={{}},
          within=60, watch=lambda: None)
"""
    process = subprocess.Popen([sys.executable, "-c", ours])
    try:
        wait_until((tmp_path / "pids").exists)
        program, grandchild = pids(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until(lambda: is_gone(program))
    finally:
        process.kill()
        process.wait()
    # What it started in turn is not ours to reach; a package client starts nothing that stays.
    os.kill(grandchild, signal.SIGKILL)
