"""What everything that marks work under way must do, on every implementation there is."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from seamark_sidecar.model.errors import StorageUnwritable
from seamark_sidecar.store.crash_marks import SLOTS, CrashMarks

DIE_AT_WORK = """
import os, signal, sys
from pathlib import Path
from seamark_sidecar.store.crash_marks import CrashMarks
marks = CrashMarks(Path(sys.argv[1]))
with marks.at_work_on("finished"):
    pass
with marks.at_work_on("outer"), marks.at_work_on(sys.argv[2]):
    os.kill(os.getpid(), getattr(signal, sys.argv[3]))
"""


@pytest.fixture(params=[CrashMarks])
def make(request, tmp_path):
    """Opens the marks of one place; opening them again is a new process's view."""
    opened = []

    def open_():
        opened.append(request.param(tmp_path / "crash.marks"))
        return opened[-1]

    yield open_
    for marks in opened:
        marks.close()


def test_what_is_finished_leaves_no_mark(make):
    marks = make()
    with marks.at_work_on("one"):
        pass
    with pytest.raises(ValueError, match="mine"), marks.at_work_on("two"):
        raise ValueError("mine")
    assert make().take_left() == []


def test_what_is_under_way_is_marked_until_it_is_taken(make):
    marks = make()
    with marks.at_work_on("one"), marks.at_work_on("two"):
        left = make()
        assert sorted(left.take_left()) == ["one", "two"]
        assert left.take_left() == []


@pytest.mark.parametrize("name", ["s/p/1", "ſ" * 128 + "/" + "价" * 64 + "/" + "9" * 19])
@pytest.mark.parametrize("end", ["SIGKILL", "SIGSEGV"])
def test_a_mark_outlives_the_process(make, tmp_path, name, end):
    make()
    died = subprocess.run(
        [sys.executable, "-c", DIE_AT_WORK, str(tmp_path / "crash.marks"), name, end],
        env={**os.environ, "PYTHONUTF8": "1"},
        timeout=60,
    )
    assert died.returncode == -getattr(signal, end)
    assert sorted(make().take_left()) == sorted(["outer", name])


def test_more_work_than_there_are_marks_is_done_all_the_same(make):
    marks = make()
    with contextlib.ExitStack() as stack:
        for number in range(SLOTS + 5):
            stack.enter_context(marks.at_work_on(str(number)))
    assert make().take_left() == []


def test_the_file_has_its_place_on_the_disk_from_the_start(make, tmp_path):
    make()
    found = (tmp_path / "crash.marks").stat()
    assert found.st_blocks * 512 >= found.st_size
    assert found.st_mode & 0o077 == 0


def test_a_place_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for place in (tmp_path / "link", tmp_path):
        with pytest.raises(StorageUnwritable, match=str(place)):
            CrashMarks(place)
