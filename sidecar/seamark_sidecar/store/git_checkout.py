"""Tells which project a directory belongs to, without trusting what is in it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from seamark_sidecar.model.errors import BadRequest

# Seconds for everything; a start of a session waits for it.
TIMEOUT = 2.0
# Bytes of one answer; thousands of first commits are not a project we know how to name.
LONGEST_ANSWER = 64 * 1024
# A clone of a clone of a clone leads to its origin; a circle does not.
MOST_HOPS = 3
LONGEST_NAME = 100

# A repository's own config can name programs to run; none of these commands may start one.
_SAFE_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.pager=cat",
    "-c", "protocol.allow=never",
)  # fmt: skip
_SAFE_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    # Unlike protocol.allow, it cannot be overruled by the repository's protocol.NAME.allow; older
    # versions of git know no GIT_NO_LAZY_FETCH and would fetch a missing commit by any of them.
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which project a path belongs to."""

    # `git:...`, the same in every clone and worktree, or `dir:...`.
    key: str
    # For people; printable text.
    name: str
    # The project's directory; None when there is no such directory.
    root: Path | None


async def identify(path: Path, environ: Mapping[str, str] | None = None) -> Identity:
    """The project of a directory, after at most `TIMEOUT` seconds.

    Whatever keeps git from telling (no repository, no commits, no git, another owner, no answer in
    time) makes the directory itself the project.

    Raises:
        BadRequest: no file system can have such a path.
    """
    place = _Place(_absolute(path), exists=False, checkout=None)
    try:
        async with asyncio.timeout(TIMEOUT):
            # In a thread, because a dead network mount answers nothing at all.
            place = await asyncio.to_thread(_locate, path)
            if place.checkout is not None:
                git = await asyncio.to_thread(
                    _find_git, os.environ if environ is None else environ, place.checkout
                )
                if git is not None and (found := await _identify(git, place.checkout, place)):
                    return found
    except TimeoutError:
        # The directory will do.
        pass
    return directory_identity(place.directory, exists=place.exists)


async def _identify(git: _Git, checkout: Path, place: _Place) -> Identity | None:
    answer = await git.ask(
        place.directory, "rev-parse", "--show-toplevel", "--is-shallow-repository"
    )
    toplevel, _, shallow = (answer or "").rpartition("\n")
    # The repository's core.worktree could name any directory at all.
    if toplevel != str(checkout):
        return None
    roots, url = await asyncio.gather(
        git.ask(checkout, "rev-list", "--max-parents=0", "--timestamp", "HEAD"),
        git.ask(checkout, "remote", "get-url", "origin"),
    )
    first = first_commit(roots or "")
    if not first:
        return directory_identity(checkout, exists=True)
    remote = await _final_remote(git, checkout, url)
    # The oldest commit of a shallow clone is wherever it was cut, and moves with each fetch.
    return repository_identity(first if shallow == "false" else "", remote, checkout)


async def _final_remote(git: _Git, root: Path, url: str | None) -> str:
    """The normal form of the origin that local clones lead to, or nothing."""
    for _ in range(MOST_HOPS):
        if not url:
            return ""
        local = local_path(url)
        if local is None:
            return normal_remote(url)
        root = Path(await asyncio.to_thread(os.path.realpath, root / local))
        url = await git.ask(root, "remote", "get-url", "origin", ceiling=root.parent)
    return normal_remote(url) if url and local_path(url) is None else ""


# --- what the answers mean --------------------------------------------------------------------


def first_commit(roots: str) -> str:
    """The oldest of the first commits, given as lines of time and id; nothing when none is."""
    found = re.findall(r"^(\d{1,15}) ([0-9a-f]{40,64})$", roots, re.MULTILINE)
    return min(((int(time), commit) for time, commit in found), default=(0, ""))[1]


def normal_remote(url: str) -> str:
    """One form for all addresses of a repository: `host/path`, with no scheme, user or port."""
    url = url.strip()
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", unquote(parts.path)
        except ValueError:
            return url
    elif scp := re.match(r"(?:[^@/]*@)?(\[[^\]/]*\]|[^:/]+):(?!:)(.*)\Z", url, re.DOTALL):
        host, path = scp[1].strip("[]"), scp[2]
    else:
        # A helper's own form (`ext::...`), only ever compared.
        return url
    segments = [segment for segment in path.split("/") if segment]
    return "/".join([host.lower(), *segments]).removesuffix(".git")


def local_path(url: str) -> str | None:
    """The path of a remote on this machine; None for all others."""
    if url.lower().startswith("file://"):
        return unquote(url[len("file://") :].removeprefix("localhost"))
    if "://" in url or re.match(r"[^/]*:", url):
        return None
    return url


def repository_identity(first: str, remote: str, root: Path) -> Identity:
    """The identity of a repository; its directory's when there is nothing else to go by."""
    if not first and not remote:
        return directory_identity(root, exists=True)
    name = remote.rpartition("/")[2]
    return Identity(
        key=_key("git", f"{first}\n{remote}"),
        # An address of no known form may hold a password.
        name=_printable(name if re.fullmatch(r"[\w.-]+", name) else root.name),
        root=root,
    )


def directory_identity(directory: Path, *, exists: bool) -> Identity:
    """The identity of a directory that is no repository."""
    return Identity(
        key=_key("dir", str(directory)),
        name=_printable(directory.name or str(directory)),
        root=directory if exists else None,
    )


def _key(kind: str, what: str) -> str:
    return f"{kind}:{hashlib.sha256(os.fsencode(what)).hexdigest()[:24]}"


def _printable(name: str) -> str:
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "�" for letter in text)[:LONGEST_NAME]


# --- the file system --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    directory: Path
    exists: bool
    # The nearest directory upwards that looks like a checkout.
    checkout: Path | None


def _absolute(path: Path) -> Path:
    try:
        if b"\0" in os.fsencode(path):
            raise BadRequest("the project's path holds a NUL character; send a directory's path")
    except UnicodeEncodeError:
        raise BadRequest("the project's path is not valid text; send a directory's path") from None
    return path.absolute()


def _locate(path: Path) -> _Place:
    # The os.path functions, because pathlib's raise on loops, closed directories and long names.
    directory = Path(os.path.realpath(path))
    if os.path.isfile(directory):  # noqa: PTH113
        directory = directory.parent
    if not os.path.isdir(directory):  # noqa: PTH112
        return _Place(directory, exists=False, checkout=None)
    upwards = (directory, *directory.parents)
    checkout = next((place for place in upwards if os.path.lexists(place / ".git")), None)
    return _Place(directory, exists=True, checkout=checkout)


def _find_git(environ: Mapping[str, str], project: Path) -> _Git | None:
    """The git of this machine; never one that the project brings along."""
    folders = [
        folder
        for folder in environ.get("PATH", os.defpath).split(os.pathsep)
        if folder.startswith("/") and not Path(os.path.realpath(folder)).is_relative_to(project)
    ]
    for folder in folders:
        program = Path(folder) / "git"
        if os.path.isfile(program) and os.access(program, os.X_OK):  # noqa: PTH113
            kept = {"PATH": os.pathsep.join(folders)}
            if home := environ.get("HOME"):
                kept["HOME"] = home
            return _Git(program, {**kept, **_SAFE_ENVIRONMENT})
    return None


# --- the program ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Git:
    program: Path
    environment: Mapping[str, str]

    async def ask(
        self, directory: Path, *arguments: str, ceiling: Path | None = None
    ) -> str | None:
        """What git prints, without the last line end; None when it fails or prints too much."""
        environment = dict(self.environment)
        if ceiling is not None:
            environment["GIT_CEILING_DIRECTORIES"] = str(ceiling)
        try:
            process = await asyncio.create_subprocess_exec(
                self.program,
                *_SAFE_OPTIONS,
                *arguments,
                cwd=directory,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                # A group of its own, so that whatever it starts ends with it.
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            output = await _read_at_most(process, LONGEST_ANSWER)
            if output is None or await process.wait() != 0:
                return None
        finally:
            await _end(process)
        return os.fsdecode(output.removesuffix(b"\n"))


async def _read_at_most(process: asyncio.subprocess.Process, limit: int) -> bytes | None:
    assert process.stdout is not None
    output = b""
    while chunk := await process.stdout.read(limit):
        output += chunk
        if len(output) > limit:
            return None
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Bounded, for a process that the kernel does not let go.
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await process.wait()
