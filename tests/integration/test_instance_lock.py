"""One user and one sidecar per data directory, with real locks and processes."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seamark_sidecar.lock import LOCK_NAME, Holder, InstanceLock, prepare_data_dir, read_holder
from seamark_sidecar.model.errors import AlreadyRunning, StorageUnwritable

ADDRESS = "unix:/run/user/1000/seamark/s.sock"

HOLD = """
import sys, time
from pathlib import Path
from seamark_sidecar.lock import InstanceLock
with InstanceLock(Path(sys.argv[1]), address=sys.argv[2], version="9.9"):
    print("held", flush=True)
    sys.stdin.read()
"""


def lock(directory):
    return InstanceLock(directory, address=ADDRESS, version="1.2.3")


@pytest.fixture
def other_sidecar(tmp_path):
    """Another process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), ADDRESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- the lock ---


def test_a_second_sidecar_is_told_who_holds_the_lock(tmp_path, other_sidecar):
    with pytest.raises(AlreadyRunning) as caught, lock(tmp_path):
        pass
    message = str(caught.value)
    assert f"pid {other_sidecar.pid}" in message
    assert ADDRESS in message
    assert f"since {datetime.now(UTC):%Y-%m-%d}" in message
    assert "seamark down" in message


def test_the_holder_can_be_asked_for(tmp_path, other_sidecar):
    holder = read_holder(tmp_path)
    assert holder is not None
    assert (holder.pid, holder.address, holder.version) == (other_sidecar.pid, ADDRESS, "9.9")
    assert holder.started is not None
    assert abs((datetime.now(UTC) - holder.started).total_seconds()) < 60


def test_nobody_holds_a_directory_without_sidecar(tmp_path):
    assert read_holder(tmp_path) is None
    assert read_holder(tmp_path / "gone") is None
    with lock(tmp_path):
        assert read_holder(tmp_path) is not None
    assert read_holder(tmp_path) is None


def test_the_file_of_a_killed_sidecar_is_taken(tmp_path, other_sidecar):
    other_sidecar.kill()
    other_sidecar.wait(10)
    assert json.loads((tmp_path / LOCK_NAME).read_text())["pid"] == other_sidecar.pid
    assert read_holder(tmp_path) is None
    with lock(tmp_path):
        holder = read_holder(tmp_path)
        assert holder is not None
        assert (holder.pid, holder.version) == (os.getpid(), "1.2.3")


def test_the_lock_is_given_back_when_a_sidecar_ends_or_fails(tmp_path):
    with pytest.raises(LookupError), lock(tmp_path):
        raise LookupError
    with lock(tmp_path):
        pass
    assert (tmp_path / LOCK_NAME).read_bytes() == b""


def test_a_program_that_the_sidecar_starts_does_not_keep_the_lock(tmp_path):
    with lock(tmp_path):
        worker = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False
        )
    with worker:
        with lock(tmp_path):
            pass
        worker.kill()


def test_asking_for_the_holder_does_not_keep_a_sidecar_from_starting(tmp_path):
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            read_holder(tmp_path)

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(20):
            with lock(tmp_path):
                pass
    finally:
        stop.set()
        for asker in askers:
            asker.join()


def test_only_one_of_many_that_start_at_once_gets_the_lock(tmp_path):
    outcomes = []
    start, done = threading.Barrier(8), threading.Barrier(8)

    def run():
        start.wait()
        try:
            with lock(tmp_path):
                outcomes.append("held")
                done.wait()
        except AlreadyRunning:
            outcomes.append("refused")
            done.wait()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["held"] + ["refused"] * 7


def test_nobody_else_can_read_the_lock_file(tmp_path):
    (tmp_path / LOCK_NAME).touch(0o666)
    (tmp_path / LOCK_NAME).chmod(0o666)
    with lock(tmp_path):
        assert mode(tmp_path / LOCK_NAME) == 0o600


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / LOCK_NAME).symlink_to(victim)
    with pytest.raises(StorageUnwritable), lock(tmp_path):
        pass
    with pytest.raises(StorageUnwritable):
        read_holder(tmp_path)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("make_it", [os.mkdir, os.mkfifo])
def test_something_else_in_place_of_the_lock_file_is_named(tmp_path, make_it):
    make_it(tmp_path / LOCK_NAME)
    with pytest.raises(StorageUnwritable, match=LOCK_NAME), lock(tmp_path):
        pass
    with pytest.raises(StorageUnwritable, match=LOCK_NAME):
        read_holder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 4096,
        b'{"pid": "1", "address": "a", "version": "v", "started": "2030-01-01"}',
        b'{"pid": true, "address": "a", "version": "v", "started": "2030-01-01"}',
        b'{"pid": 1, "address": ["a"], "version": "v", "started": "2030-01-01"}',
        b'{"pid": 1, "address": "a", "version": "v", "started": 7}',
        b'{"pid": 1, "address": "a", "version": "v", "started": "soon"}',
    ],
)
def test_a_lock_file_with_nonsense_names_nobody(tmp_path, content):
    with lock(tmp_path):
        (tmp_path / LOCK_NAME).write_bytes(content)
        assert read_holder(tmp_path) == Holder(0, "", "", None)
        with pytest.raises(AlreadyRunning, match="starting or stopping"), lock(tmp_path):
            pass


# --- the data directory ---


def test_a_data_directory_is_made_for_its_user_alone(tmp_path):
    before = os.umask(0)
    try:
        prepare_data_dir(tmp_path / "a" / "b" / "seamark")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "b" / "seamark") == 0o700
    prepare_data_dir(tmp_path / "a" / "b" / "seamark")


def test_a_data_directory_that_others_can_read_is_closed_to_them(tmp_path):
    directory = tmp_path / "seamark"
    directory.mkdir()
    directory.chmod(0o755)
    prepare_data_dir(directory)
    assert mode(directory) == 0o700


@pytest.mark.parametrize("loose", [0o770, 0o707, 0o777, 0o1777, 0o720])
def test_a_data_directory_that_others_can_write_to_is_refused(tmp_path, loose):
    directory = tmp_path / "seamark"
    directory.mkdir()
    directory.chmod(loose)
    with pytest.raises(StorageUnwritable, match=r"other users can write.*chmod 700"):
        prepare_data_dir(directory)
    assert mode(directory) == loose


@pytest.fixture
def foreign_directory(tmp_path):
    if os.geteuid():
        return Path("/usr")
    directory = tmp_path / "foreign"
    directory.mkdir(mode=0o700)
    os.chown(directory, 65534, 65534)
    return directory


def test_a_data_directory_of_another_user_is_refused(foreign_directory):
    with pytest.raises(StorageUnwritable, match=r"another user.*SEAMARK_DATA_DIR"):
        prepare_data_dir(foreign_directory)


def test_a_link_to_a_directory_of_another_user_is_refused(tmp_path, foreign_directory):
    (tmp_path / "seamark").symlink_to(foreign_directory)
    with pytest.raises(StorageUnwritable, match="another user"):
        prepare_data_dir(tmp_path / "seamark")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a link for another user")
def test_a_link_that_another_user_made_is_refused(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "seamark").symlink_to(tmp_path / "mine")
    os.chown(tmp_path / "seamark", 65534, 65534, follow_symlinks=False)
    with pytest.raises(StorageUnwritable, match="a link that another user made"):
        prepare_data_dir(tmp_path / "seamark")


def test_a_link_of_ones_own_to_a_directory_of_ones_own_is_fine(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "seamark").symlink_to(tmp_path / "mine")
    prepare_data_dir(tmp_path / "seamark")
    assert mode(tmp_path / "mine") == 0o700


def test_a_file_or_a_dangling_link_in_place_of_the_directory_is_named(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    for name in ("file", "dangling", "file/below"):
        with pytest.raises(StorageUnwritable, match=r"cannot be used.*SEAMARK_DATA_DIR"):
            prepare_data_dir(tmp_path / name)


PREPARE = """
import os, sys
from pathlib import Path
from seamark_sidecar.lock import InstanceLock, prepare_data_dir
from seamark_sidecar.model.errors import StorageUnwritable
if not os.geteuid():
    os.setegid(65534)
    os.seteuid(65534)
try:
    prepare_data_dir(Path(sys.argv[1]))
except StorageUnwritable as error:
    print(error)
"""


@pytest.mark.parametrize("name", [".", "below"])
def test_a_read_only_directory_is_named(name):
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        if not os.geteuid():
            # The administrator may write anywhere, so the script becomes nobody first.
            os.chown(directory, 65534, 65534)
        directory.chmod(0o500)
        done = subprocess.run(
            [sys.executable, "-c", PREPARE, str(directory / name)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        directory.chmod(0o700)
    assert temporary in done.stdout
    assert "SEAMARK_DATA_DIR" in done.stdout
