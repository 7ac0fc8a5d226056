"""The log stays small while the sidecar and its workers write to it."""

import os
import stat

import pytest

from seamark_sidecar.limits.log_file import LogFile


@pytest.fixture
def log(tmp_path):
    return tmp_path / "sidecar.log"


@pytest.fixture
def opened(log):
    """Opens the log as whoever starts a sidecar does; closed afterwards."""
    made = []

    def open_(path=log, flags=os.O_APPEND):
        made.append(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600))
        return made[-1]

    yield open_
    for descriptor in made:
        os.close(descriptor)


def test_a_small_log_is_left_alone(log, opened):
    stream = opened()
    os.write(stream, b"x" * 100)
    assert not LogFile(log, stream, largest=100).rotate()
    assert log.stat().st_size == 100


def test_a_large_log_goes_on_empty_and_its_content_is_kept_beside_it(log, opened):
    stream = opened()
    worker = os.dup(stream)
    os.write(stream, b"old\n" * 100)
    assert LogFile(log, stream, largest=100).rotate()
    os.write(stream, b"new\n")
    os.write(worker, b"of a worker\n")
    os.close(worker)
    old = log.with_name("sidecar.log.1")
    assert log.read_bytes() == b"new\nof a worker\n"
    assert old.read_bytes() == b"old\n" * 100
    assert stat.S_IMODE(old.stat().st_mode) == 0o600


def test_only_one_old_log_is_kept(log, opened):
    stream = opened()
    for letter in b"abc":
        os.write(stream, bytes([letter]) * 200)
        assert LogFile(log, stream, largest=100).rotate()
    assert sorted(path.name for path in log.parent.iterdir()) == ["sidecar.log", "sidecar.log.1"]
    assert log.with_name("sidecar.log.1").read_bytes() == b"c" * 200


def test_a_stream_that_goes_elsewhere_is_not_touched(log, opened, tmp_path):
    log.write_bytes(b"x" * 200)
    elsewhere = opened(tmp_path / "terminal")
    os.write(elsewhere, b"y" * 200)
    assert not LogFile(log, elsewhere, largest=100).rotate()
    assert log.stat().st_size == (tmp_path / "terminal").stat().st_size == 200


def test_without_a_log_nothing_is_done(log, opened, tmp_path):
    stream = opened(tmp_path / "terminal")
    os.write(stream, b"x" * 200)
    assert not LogFile(log, stream, largest=100).rotate()


def test_a_stream_that_does_not_append_is_not_cut(log, opened):
    stream = opened(flags=0)
    os.write(stream, b"x" * 200)
    assert not LogFile(log, stream, largest=100).rotate()
    assert log.stat().st_size == 200


def test_what_lies_in_the_way_of_the_old_log_is_not_followed(log, opened, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    log.with_name("sidecar.log.1").symlink_to(precious)
    stream = opened()
    os.write(stream, b"x" * 200)
    assert LogFile(log, stream, largest=100).rotate()
    assert precious.read_text() == "as it was"
    assert log.with_name("sidecar.log.1").read_bytes() == b"x" * 200


def test_a_log_that_can_be_kept_nowhere_is_cut_all_the_same(log, opened):
    log.with_name("sidecar.log.1").mkdir()
    stream = opened()
    os.write(stream, b"x" * 200)
    assert LogFile(log, stream, largest=100).rotate()
    assert log.stat().st_size == 0
