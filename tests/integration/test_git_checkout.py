"""Project identity against real repositories, some of them hostile."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.store import git_checkout
from seamark_sidecar.store.git_checkout import (
    Identity,
    first_commit,
    identify,
    local_path,
    normal_remote,
)

REMOTE = "https://github.com/harbor/pilot.git"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own, so that nobody's settings take part."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = A\nemail = a@example.org\n[init]\ndefaultBranch = main\n"
        '[protocol "file"]\nallow = always\n[advice]\ndetachedHead = false\n'
    )
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    return home


def git(directory, *arguments, **options):
    return subprocess.run(
        ["git", *map(str, arguments)], cwd=directory, check=True, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, **options,
    ).stdout.strip()  # fmt: skip


def ask_with_trust(directory, *arguments):
    subprocess.run(
        ["git", *arguments],
        cwd=directory,
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )


def commit(repository, name="first"):
    (repository / f"{name}.txt").write_text(name)
    git(repository, "add", f"{name}.txt")
    git(repository, "commit", "-q", "-m", name)
    return git(repository, "rev-parse", "HEAD")


def make(directory, remote=None, first="first"):
    directory.mkdir(parents=True)
    git(directory, "init", "-q")
    commit(directory, first)
    if remote:
        git(directory, "remote", "add", "origin", remote)
    return directory


@pytest.fixture
def repository(tmp_path):
    return make(tmp_path / "pilot", REMOTE)


# --- the same project, and another one ---


async def test_a_repository_is_known_by_its_first_commit_and_remote(repository):
    found = await identify(repository)
    assert found.key.startswith("git:")
    assert found == Identity(found.key, "pilot", repository)


async def test_more_commits_and_branches_do_not_change_it(repository):
    before = await identify(repository)
    commit(repository, "second")
    git(repository, "checkout", "-q", "-b", "topic")
    commit(repository, "third")
    assert await identify(repository) == before


async def test_a_subdirectory_or_a_file_belongs_to_the_repository(repository):
    (repository / "a" / "b").mkdir(parents=True)
    assert await identify(repository / "a" / "b") == await identify(repository)
    assert await identify(repository / "first.txt") == await identify(repository)


async def test_a_link_to_the_repository_is_the_repository(repository, tmp_path):
    (tmp_path / "link").symlink_to(repository)
    assert await identify(tmp_path / "link") == await identify(repository)


async def test_a_worktree_is_the_same_project_with_its_own_root(repository, tmp_path):
    git(repository, "worktree", "add", "-q", tmp_path / "tree", "-b", "other")
    found = await identify(tmp_path / "tree")
    assert found.key == (await identify(repository)).key
    assert found.name == "pilot"
    assert found.root == tmp_path / "tree"


async def test_another_clone_is_the_same_project(repository, tmp_path):
    git(tmp_path, "clone", "-q", repository, "copy")
    git(tmp_path / "copy", "remote", "set-url", "origin", "git@GitHub.com:harbor/pilot.git")
    assert (await identify(tmp_path / "copy")).key == (await identify(repository)).key


def clone_of_clone(source, directory, hops):
    for hop in range(hops):
        # In turn with and without a worktree.
        git(directory, "clone", "-q", *(["--bare"] if hop % 2 else []), source, f"copy{hop}")
        source = directory / f"copy{hop}"
    git(directory, "clone", "-q", source, "last")
    return directory / "last"


@pytest.mark.parametrize("hops", [0, 1, 2])
async def test_a_clone_of_local_clones_leads_to_their_origin(repository, tmp_path, hops):
    last = clone_of_clone(repository, tmp_path, hops)
    assert (await identify(last)).key == (await identify(repository)).key


async def test_too_many_local_clones_count_as_no_remote(repository, tmp_path):
    last = clone_of_clone(repository, tmp_path, 3)
    git(repository, "remote", "remove", "origin")
    assert (await identify(last)).key == (await identify(repository)).key


async def test_a_relative_remote_leads_on_from_the_repository(repository, tmp_path):
    git(tmp_path, "clone", "-q", repository, "copy")
    (tmp_path / "copy" / "deep").mkdir()
    git(tmp_path / "copy", "remote", "set-url", "origin", "../pilot")
    assert (await identify(tmp_path / "copy" / "deep")).key == (await identify(repository)).key


async def test_a_clone_of_a_repository_without_remote_is_the_same_project(tmp_path):
    source = make(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", source, "hub.git")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/hub.git", "copy")
    found = await identify(source)
    assert found.name == "source"
    assert found.key.startswith("git:")
    assert (await identify(tmp_path / "copy")).key == found.key


@pytest.mark.parametrize("remote", [".", "../pilot", "no-such-place", "", "file://", "loop"])
async def test_a_remote_that_leads_nowhere_counts_as_none(tmp_path, remote):
    plain = await identify(make(tmp_path / "plain"))
    repository = tmp_path / "pilot"
    shutil.copytree(tmp_path / "plain", repository)
    (repository / "loop").symlink_to("loop")
    git(repository, "config", "remote.origin.url", remote)
    assert (await identify(repository)).key == plain.key


async def test_a_remote_that_is_a_plain_directory_of_the_project_counts_as_none(tmp_path):
    plain = await identify(make(tmp_path / "plain"))
    (tmp_path / "plain" / "vendor").mkdir()
    git(tmp_path / "plain", "remote", "add", "origin", "./vendor")
    assert (await identify(tmp_path / "plain")).key == plain.key


async def test_a_remote_is_not_sought_above_the_place_it_names(repository, tmp_path):
    plain = await identify(make(tmp_path / "plain"))
    (repository / "vendor").mkdir()
    git(tmp_path / "plain", "remote", "add", "origin", repository / "vendor")
    assert (await identify(tmp_path / "plain")).key == plain.key


async def test_forks_are_different_projects(repository, tmp_path):
    git(tmp_path, "clone", "-q", repository, "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://github.com/other/pilot.git")
    assert (await identify(tmp_path / "fork")).key != (await identify(repository)).key


async def test_repositories_that_share_only_a_remote_are_different_projects(repository, tmp_path):
    other = make(tmp_path / "other", REMOTE, first="something else")
    assert (await identify(other)).key != (await identify(repository)).key


async def test_merging_another_history_does_not_change_the_project(repository, tmp_path):
    before = await identify(repository)
    later = {**os.environ, "GIT_COMMITTER_DATE": "2035-01-01T00:00:00Z"}
    tmp_path.joinpath("library").mkdir()
    git(tmp_path / "library", "init", "-q")
    git(tmp_path / "library", "commit", "-q", "--allow-empty", "-m", "library", env=later)
    git(
        repository, "pull", "-q", "--no-rebase", "--allow-unrelated-histories", "../library", "main"
    )
    assert len(git(repository, "rev-list", "--max-parents=0", "HEAD").split()) == 2
    assert await identify(repository) == before


async def test_a_shallow_clone_keeps_its_identity_when_it_moves_on(repository, tmp_path):
    for name in ("second", "third"):
        commit(repository, name)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "cut")
    git(tmp_path / "cut", "remote", "set-url", "origin", REMOTE)
    before = await identify(tmp_path / "cut")
    commit(repository, "fourth")
    git(tmp_path / "cut", "fetch", "-q", "--depth=1", f"file://{repository}", "main")
    git(tmp_path / "cut", "reset", "-q", "--hard", "FETCH_HEAD")
    assert await identify(tmp_path / "cut") == before
    assert before.key.startswith("git:")


# --- where git cannot tell ---


async def test_a_plain_directory_is_its_own_project(tmp_path):
    (tmp_path / "notes").mkdir()
    found = await identify(tmp_path / "notes")
    assert found.key.startswith("dir:")
    assert found == Identity(found.key, "notes", tmp_path / "notes")
    assert found == await identify(tmp_path / "x" / ".." / "notes")
    assert found.key != (await identify(tmp_path)).key


async def test_a_repository_without_commits_is_its_top_directory(tmp_path):
    new = tmp_path / "new"
    (new / "src").mkdir(parents=True)
    git(new, "init", "-q")
    git(new, "remote", "add", "origin", REMOTE)
    found = await identify(new / "src")
    assert found.key.startswith("dir:")
    assert found.root == new


async def test_a_directory_that_does_not_exist_has_a_key_and_no_root(tmp_path):
    found = await identify(tmp_path / "gone")
    assert found.key.startswith("dir:")
    assert found.root is None


async def test_without_git_the_directory_is_the_project(repository, tmp_path):
    found = await identify(repository, {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert found.key.startswith("dir:")
    assert found.root == repository


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
async def test_a_repository_of_another_user_is_not_read(repository):
    for entry in (repository, repository / ".git"):
        os.chown(entry, 65534, 65534)
    assert (await identify(repository)).key.startswith("dir:")


async def test_a_broken_repository_is_its_directory(repository):
    (repository / ".git" / "HEAD").write_bytes(b"\xff\x00")
    assert (await identify(repository)).key.startswith("dir:")


async def test_names_that_are_no_text_are_survived(tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9\n\x1b[31m"))
    make(odd)
    found = await identify(odd)
    assert found.key.startswith("git:")
    assert found.root == odd
    assert found.name.isprintable()
    found.name.encode()


@pytest.mark.parametrize("path", ["a\0b", "a\ud800"])
async def test_a_path_that_cannot_exist_is_refused(path):
    with pytest.raises(BadRequest):
        await identify(Path(path))


@pytest.mark.parametrize("path", ["x" * 5000, "loop", "loop/x"])
async def test_a_path_that_leads_nowhere_is_its_own_project(tmp_path, path):
    (tmp_path / "loop").symlink_to("loop")
    found = await identify(tmp_path / path)
    assert found.key.startswith("dir:")
    assert found.root is None


# --- a git that misbehaves ---


def fake_git(directory, script):
    directory.mkdir(parents=True)
    program = directory / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": str(directory), "HOME": "/"}


async def test_a_git_that_hangs_is_killed_with_all_it_started(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(git_checkout, "TIMEOUT", 0.3)
    pids = tmp_path / "pids"
    environ = fake_git(
        tmp_path / "bin",
        f"/bin/sleep 60 & echo $! $$ > {pids}.new; /bin/mv {pids}.new {pids}; wait",
    )
    before = time.monotonic()
    found = await identify(repository, environ)
    assert time.monotonic() - before < 2
    assert found.key.startswith("dir:")
    for pid in pids.read_text().split():
        assert not await is_running(int(pid))


async def test_a_cancelled_caller_leaves_no_git_behind(repository, tmp_path):
    pids = tmp_path / "pids"
    environ = fake_git(
        tmp_path / "bin", f"echo $$ > {pids}.new; /bin/mv {pids}.new {pids}; exec /bin/sleep 60"
    )
    caller = asyncio.ensure_future(identify(repository, environ))
    for _ in range(150):
        if pids.exists():
            break
        await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not await is_running(int(pids.read_text()))


async def is_running(pid):
    """Whether a process is still there after a moment."""
    for _ in range(100):
        if state_of(pid) in {"", "Z"}:
            return False
        await asyncio.sleep(0.01)
    return True


def state_of(pid):
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return ""
    shown = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, check=False)
    return shown.stdout.decode().strip()[:1]


async def test_a_git_that_never_stops_talking_is_cut_off(repository, tmp_path):
    environ = fake_git(
        tmp_path / "bin", "while :; do echo 0123456789012345678901234567890123456789; done"
    )
    before = time.monotonic()
    assert (await identify(repository, environ)).key.startswith("dir:")
    assert time.monotonic() - before < 2


@pytest.mark.parametrize("path", ["", ".", "bin", "{project}/bin", "{link}/bin"])
async def test_a_git_that_the_project_brings_along_is_not_run(
    repository, tmp_path, monkeypatch, path
):
    marker = tmp_path / "marker"
    fake_git(repository / "bin", f"echo ran > {marker}")
    shutil.copy(repository / "bin" / "git", repository / "git")
    (tmp_path / "link").symlink_to(repository)
    monkeypatch.chdir(repository)
    first = path.format(project=repository, link=tmp_path / "link")
    (repository / "src").mkdir()
    found = await identify(
        repository / "src", {**os.environ, "PATH": f"{first}:{os.environ['PATH']}"}
    )
    assert found == await identify(repository)
    assert found.key.startswith("git:")
    assert not marker.exists()


@pytest.mark.parametrize("path", ["", ".", "bin"])
async def test_a_git_beside_the_sidecar_is_not_run(repository, tmp_path, monkeypatch, path):
    marker = tmp_path / "marker"
    fake_git(tmp_path / "cwd" / "bin", f"echo ran > {marker}")
    shutil.copy(tmp_path / "cwd" / "bin" / "git", tmp_path / "cwd" / "git")
    monkeypatch.chdir(tmp_path / "cwd")
    found = await identify(repository, {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"})
    assert found == await identify(repository)
    assert not marker.exists()


async def test_nothing_of_gits_environment_is_passed_on(repository, tmp_path, monkeypatch):
    other = make(tmp_path / "other", "https://example.org/other.git", first="other")
    expected = await identify(repository)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'remote.origin.url=https://example.org/x'")
    assert await identify(repository) == expected


# --- hostile repositories ---


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "marker"


@pytest.fixture
def trap(tmp_path, marker):
    """A program that shows it was run."""
    program = tmp_path / "trap"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {marker}\nexit 0\n')
    program.chmod(0o755)
    return program


def set_every_trap(repository, trap):
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "credential.helper",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "log.showSignature",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
        "core.alternateRefsCommand",
        "sequence.editor",
        "interactive.diffFilter",
    ):
        git(repository, "config", name, "true" if name == "log.showSignature" else trap)
    for command in ("rev-parse", "rev-list", "remote", "config"):
        git(repository, "config", f"pager.{command}", trap)
        git(repository, "config", f"alias.{command}", f"!{trap}")
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    hooks = repository / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(trap, hooks / hook)
        shutil.copy(trap, repository / ".git" / "hooks" / hook)
    git(repository, "config", "core.hooksPath", hooks)
    included = repository / "included"
    included.write_text(f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\tsshCommand = {trap}\n")
    git(repository, "config", "include.path", included)


async def test_no_program_that_a_repository_names_is_run(repository, trap, marker):
    expected = await identify(repository)
    set_every_trap(repository, trap)
    marker.unlink(missing_ok=True)
    assert await identify(repository) == expected
    assert not marker.exists()


def test_the_traps_do_spring_for_a_trusting_git(repository, trap, marker):
    set_every_trap(repository, trap)
    marker.unlink(missing_ok=True)
    ask_with_trust(repository, "status")
    assert marker.exists()


def lack_a_commit(repository, url):
    """Makes a repository that would fetch its missing first commit from a place of its choice."""
    missing = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": url,
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "protocol.ssh.allow": "always",
        "protocol.file.allow": "always",
    }.items():
        git(repository, "config", name, value)
    (repository / ".git" / "objects" / missing[:2] / missing[2:]).unlink()


@pytest.mark.parametrize("kind", ["ext", "ssh", "file"])
async def test_a_missing_commit_is_never_fetched(repository, tmp_path, trap, marker, kind):
    elsewhere = make(tmp_path / "elsewhere")
    git(repository, "config", "core.sshCommand", trap)
    git(repository, "config", "remote.origin.uploadpack", trap)
    url = {"ext": f"ext::{trap}", "ssh": "ssh://nowhere.invalid/x", "file": f"file://{elsewhere}"}
    lack_a_commit(repository, url[kind])
    found = await identify(repository)
    assert not marker.exists()
    assert found.key.startswith("dir:")
    # The same question, asked with trust, does run the program.
    ask_with_trust(repository, "rev-list", "--max-parents=0", "HEAD")
    assert marker.exists()


@pytest.mark.parametrize("above", [0, 1])
async def test_a_repository_cannot_claim_a_directory_above_or_beside_it(tmp_path, above):
    outer = make(tmp_path / "outer")
    inner = make(outer / "vendor" / "inner")
    git(inner, "config", "core.worktree", outer if above else "/")
    found = await identify(inner)
    assert found.key.startswith("dir:")
    assert found.root == inner


async def test_a_config_that_never_ends_costs_no_more_than_the_timeout(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setattr(git_checkout, "TIMEOUT", 0.3)
    os.mkfifo(tmp_path / "pipe")
    git(repository, "config", "include.path", tmp_path / "pipe")
    before = time.monotonic()
    assert (await identify(repository)).key.startswith("dir:")
    assert time.monotonic() - before < 2


# --- what the answers mean ---


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/harbor/pilot",
        "https://github.com/harbor/pilot.git",
        "https://github.com/harbor/pilot.git/",
        "https://GitHub.com//harbor/pilot",
        "https://user:t0ken@github.com/harbor/pilot.git",
        "https://t0ken@github.com:443/harbor/pilot.git",
        "http://github.com/harbor/pilot?private_token=x",
        "ssh://git@github.com/harbor/pilot.git",
        "ssh://git@github.com:22/harbor/pilot.git",
        "git+ssh://git@github.com/harbor/pilot",
        "git://github.com/harbor/pilot.git",
        "git@github.com:harbor/pilot.git",
        "git@github.com:/harbor/pilot.git",
        "github.com:harbor/pilot",
        " https://github.com/harbor/pilot.git\n",
    ],
)
def test_all_addresses_of_a_repository_have_one_form(url):
    assert normal_remote(url) == "github.com/harbor/pilot"


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("ssh://git@[2001:DB8::1]:2222/x.git", "2001:db8::1/x"),
        ("git@[2001:DB8::1]:x.git", "2001:db8::1/x"),
        ("https://host/Upper/Case.git", "host/Upper/Case"),
        ("https://host/a%20b", "host/a b"),
        ("ext::sh -c run", "ext::sh -c run"),
        ("https://[broken/x", "https://[broken/x"),
    ],
)
def test_odd_addresses_have_a_form_too(url, form):
    assert normal_remote(url) == form


async def test_a_password_in_a_broken_address_does_not_become_a_name(tmp_path):
    repository = make(tmp_path / "pilot", "https://user:t0ken@[broken")
    assert (await identify(repository)).name == "pilot"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/srv/x.git", "/srv/x.git"),
        ("../x", "../x"),
        ("x", "x"),
        ("./a:b", "./a:b"),
        ("file:///srv/a%20b", "/srv/a b"),
        ("file://localhost/srv/x", "/srv/x"),
        ("git@host:x", None),
        ("host:x", None),
        ("https://host/x", None),
        ("ext::sh -c run", None),
    ],
)
def test_local_remotes_are_told_from_others(url, path):
    assert local_path(url) == path


def test_the_oldest_first_commit_counts_whatever_the_order():
    old, new = f"100 {'b' * 40}", f"200 {'a' * 40}"
    assert first_commit(f"{old}\n{new}") == first_commit(f"{new}\n{old}") == "b" * 40
    assert first_commit(f"100 {'c' * 40}\n{old}") == "b" * 40
    assert first_commit("") == first_commit("fatal: nonsense") == ""
