"""Sidecars for tests: one that all share, and those that a test may kill."""

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest

from .process import Sidecar, Talk

_projects = itertools.count(1)


@pytest.fixture(scope="session")
def short_directory():
    """Makes directories with short names: a socket's path has little room."""
    made = []

    def make():
        made.append(Path(tempfile.mkdtemp(prefix="sm")))
        return made[-1]

    yield make
    for directory in made:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def shared(short_directory):
    """A running sidecar for tests that leave it alive."""
    sidecar = Sidecar(short_directory())
    try:
        yield sidecar.start()
    finally:
        sidecar.end()


@pytest.fixture
def own(short_directory):
    """Makes sidecars, not yet started, that a test may kill."""
    made = []

    def make(**environ):
        made.append(Sidecar(short_directory(), **environ))
        return made[-1]

    yield make
    for sidecar in made:
        sidecar.end()


@pytest.fixture
def project():
    """The name of a project that no other test has."""
    return f"project {next(_projects)}"


@pytest.fixture
def talk(shared, project):
    """A session of the shared sidecar, in a project of its own."""
    return Talk(shared, project=project)
