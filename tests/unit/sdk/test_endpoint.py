"""Nothing is sent to a socket that another user could have put there."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from seamark import UserSaid, endpoint
from seamark.errors import SettingsError, SidecarUnavailable
from seamark.testing import RecordingSidecar


@pytest.fixture
def place():
    directory = Path(tempfile.mkdtemp(prefix="seamark-"))
    yield directory / "s.sock"
    shutil.rmtree(directory)


@pytest.fixture
def listening(place):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        place.chmod(0o600)
        server.listen()
        yield place


def refusal(path) -> str:
    with pytest.raises(SidecarUnavailable) as raised:
        endpoint.check(f"unix:{path}")
    return str(raised.value)


def give_to_somebody_else(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(path, 12345, 12345, follow_symlinks=False)


def test_a_private_socket_in_a_private_directory_is_used(listening):
    endpoint.check(f"unix:{listening}")


def test_an_absent_socket_says_how_to_start_the_sidecar(place):
    assert "start it: seamark up" in refusal(place)
    assert "start it: seamark up" in refusal(place.parent / "absent" / "s.sock")


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o720, 0o704, 0o755, 0o777, 0o1777])
def test_a_directory_that_is_open_to_others_is_refused(listening, mode):
    listening.parent.chmod(mode)
    assert f"chmod 700 {listening.parent}" in refusal(listening)


@pytest.mark.parametrize("mode", [0o601, 0o610, 0o620, 0o666, 0o777])
def test_a_socket_that_is_open_to_others_is_refused(listening, mode):
    listening.chmod(mode)
    assert "open to other users" in refusal(listening)


def test_a_directory_of_another_user_is_refused(listening):
    give_to_somebody_else(listening.parent)
    assert "not this user's own directory" in refusal(listening)


def test_a_socket_of_another_user_is_refused(listening):
    give_to_somebody_else(listening)
    assert "not a socket of this user" in refusal(listening)


def test_a_symlink_to_a_socket_is_refused(listening):
    link = listening.with_name("link.sock")
    link.symlink_to(listening)
    assert "not a socket of this user" in refusal(link)


def test_a_symlink_to_a_directory_is_refused(listening):
    link = listening.parent / "link"
    link.symlink_to(listening.parent)
    assert "not this user's own directory" in refusal(link / listening.name)


def test_a_regular_file_is_refused(place):
    place.write_text("not a socket")
    place.chmod(0o600)
    assert "not a socket of this user" in refusal(place)


def test_a_file_in_the_place_of_the_directory_is_refused(place):
    place.write_text("not a directory")
    assert "cannot be looked at" in refusal(place / "s.sock")


def test_a_path_with_a_nul_in_it_is_refused(place):
    assert "cannot be looked at" in refusal(f"{place}\0")


@pytest.mark.parametrize("address", ["", "dns:///example.org:443", "unix-abstract:seamark"])
def test_what_is_no_file_is_refused(address):
    with pytest.raises(SettingsError, match="unix:/absolute"):
        endpoint.check(address)


SPOILS = {
    "the directory is open": lambda path: path.parent.chmod(0o755),
    "the socket is open": lambda path: path.chmod(0o666),
    "the directory is another user's": lambda path: give_to_somebody_else(path.parent),
    "the socket is another user's": give_to_somebody_else,
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_nothing_is_sent_to_a_place_that_is_not_trusted(spoil):
    with RecordingSidecar() as sidecar:
        client = sidecar.client(close_deadline=0.1)
        known = client.start_session(project_path="/")
        path = Path(sidecar.address.removeprefix("unix:"))
        spoil(path)
        session = client.start_session(project_path="/")
        session.observe(UserSaid(text="secret"))
        known.observe(UserSaid(text="secret"))
        known.prepare_step(1)
        known.search("secret")
        known.complete()
        client.close()
        assert sidecar.bodies() == []
        assert len(sidecar.requests("StartSession")) == 1
        assert sidecar.requests("PrepareStep") == sidecar.requests("Search") == []
        assert client.dropped == 2
