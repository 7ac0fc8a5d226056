"""The same project from wherever it is checked out, and nothing it says is run."""

import os
import subprocess

import pytest

from seamark.events import MemoryRecorded, Outcome, ToolCalled, ToolReturned
from seamark.wire.v1 import sidecar_pb2 as wire

from .process import Talk

PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


def git(place, *arguments):
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "x@example.com"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    subprocess.run(["git", *arguments], cwd=place, env=environ, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit and a remote."""
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "cart.py").write_text("x = 1\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "remote", "add", "origin", "https://git.example/team/shop.git")
    return root


def test_a_worktree_and_a_clone_are_the_same_project(shared, checkout, tmp_path):
    git(checkout, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(checkout), str(tmp_path / "clone"))
    git(tmp_path / "clone", "remote", "set-url", "origin", "git@git.example:team/shop.git")
    (tmp_path / "link").symlink_to(checkout)
    places = [checkout, checkout / "src", tmp_path / "tree", tmp_path / "clone", tmp_path / "link"]
    talks = [Talk(shared, path=str(place)) for place in places]
    assert len({talk.welcome.project_id for talk in talks}) == 1

    # Each names its files by its own path, and they are the same files.
    for place, talk in zip(places, talks, strict=True):
        root = place if place.name != "src" else checkout
        path = root / "src" / "cart.py"
        talk.ingest(
            talk.batch(
                ToolCalled(call_id="r", tool="read_file", arguments_json=f'{{"path": "{path}"}}'),
                ToolReturned(call_id="r", outcome=Outcome.OK, result="x = 1"),
                MemoryRecorded(type="gotcha", content="Prices are in cents."),
            )
        )
        talk.complete(validation=PASSED)
    query = "SELECT DISTINCT path FROM file_accesses WHERE project_id = ?"
    assert shared.rows("memory.db", query, talks[0].welcome.project_id) == [("src/cart.py",)]
    query = "SELECT sessions, files FROM memories WHERE project_id = ?"
    ((sessions, files),) = shared.rows("memory.db", query, talks[0].welcome.project_id)
    assert all(talk.id in sessions for talk in talks)
    assert files == '["src/cart.py"]'


def test_another_repository_is_another_project(shared, checkout, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "another first")
    plain = tmp_path / "plain"
    plain.mkdir()
    ids = {Talk(shared, path=str(place)).welcome.project_id for place in (checkout, other, plain)}
    assert len(ids) == 3


def test_what_a_hostile_repository_configures_is_not_run(shared, checkout, tmp_path):
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {ran}\n')
    script.chmod(0o755)
    config = checkout / ".git" / "config"
    config.write_text(
        config.read_text()
        + f"""
[core]
    fsmonitor = {script}
    hooksPath = {tmp_path}
    pager = {script}
    editor = {script}
    sshCommand = {script}
    gitProxy = {script}
    askPass = {script}
[diff]
    external = {script}
[credential]
    helper = !{script}
[filter "x"]
    clean = {script}
    smudge = {script}
[remote "origin"]
    uploadpack = {script}
    promisor = true
[extensions]
    partialClone = origin
[alias]
    rev-parse = !{script}
    rev-list = !{script}
    remote = !{script}
"""
    )
    (checkout / ".gitattributes").write_text("* filter=x diff=x\n")
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        path = checkout / ".git" / "hooks" / hook
        path.write_text(script.read_text())
        path.chmod(0o755)
    # Even a git of the project's own is not the one that is asked.
    (checkout / "git").write_text(script.read_text())
    (checkout / "git").chmod(0o755)

    talk = Talk(shared, path=str(checkout))
    assert not ran.exists(), ran.read_text()
    query = "SELECT key FROM projects WHERE id = ?"
    ((key,),) = shared.rows("memory.db", query, talk.welcome.project_id)
    assert key.startswith("git:")
    # The trap is a real one: whoever is less careful walks into it.
    git(checkout, "status")
    assert ran.exists()


def test_a_checkout_that_is_not_there_is_a_project_all_the_same(shared, tmp_path):
    talk = Talk(shared, path=str(tmp_path / "nowhere"))
    assert talk.welcome.project_id
