"""Paths as the project sees them."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_PATH = 512

# Where projects lie in containers. The first hold one project, the others may hold several.
CONTAINER_ROOTS = ("/testbed", "/app", "/repo", "/code", "/project", "/usr/src/app")
CONTAINER_YARDS = ("/workspace", "/workspaces")
# Directories that belong to the system or to nobody.
_NO_PROJECT = re.compile(r"/(?:tmp|var|etc|usr|bin|sbin|lib\w*|opt|proc|sys|dev|run|root|private)?")
_HOMES = re.compile(r"/(?:home|Users)(?:/[^/]+)?|/root|[A-Za-z]:/(?:Users(?:/[^/]+)?)?")
# Names of directories that stand at the top of a project more often than above it.
_INNER = frozenset({
    "src", "lib", "cmd", "pkg", "internal", "tests", "test", "docs", "doc", "packages", "scripts",
    "examples", ".github", ".git", ".claude", ".vscode", "include", "crates",
})  # fmt: skip
# Text beneath these was written for other projects.
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|bower_components|vendor|Pods"
    r"|\.venv|venv|\.tox|\.nox|\.cargo/registry|\.cargo/git|\.m2|\.gradle/caches|pkg/mod"
    r"|\.rustup|\.pyenv|\.nvm|gems)/|^/usr/(?:local/)?(?:lib\w*|share|include)/"
    r"|\bGOMODCACHE\b"
)
_DRIVE = re.compile(r"[A-Za-z]:/")


def project_path(path: str, root: str) -> str | None:
    """The path relative to the project; None when it lies outside.

    Where nobody knows the root, a path in a container's usual place for projects is inside.
    """
    text = _plain(path)
    if not text:
        return None
    if is_absolute(text):
        base = root.replace("\\", "/")
        if is_absolute(base):
            return _below(text, base)
        return _in_container(text)
    return _normal(text)


def is_absolute(path: str) -> bool:
    """Whether it counts from a root or a drive."""
    return path.startswith("/") or _DRIVE.match(path) is not None


def is_dependency(path: str) -> bool:
    """Whether it lies among the project's dependencies, whose text others wrote."""
    return _DEPENDENCIES.search(path) is not None


def is_within(path: str, other: str) -> bool:
    """Whether a path is the other, lies beneath it, or is one of those that its wildcards mean."""
    if path == other or path.startswith(other + "/"):
        return True
    return "*" in other and other.count("*") < 5 and fnmatch.fnmatchcase(path, other)


def likely_root(paths: Iterable[str]) -> str:
    """The directory that a recorded session, which does not say, most likely worked in.

    The common beginning of most of its absolute paths, up to a directory that usually is within.
    Empty when they have nothing in common.
    """
    directories: Counter[str] = Counter()
    for path in paths:
        text = _plain(path)
        if is_absolute(text) and not _is_nowhere(posixpath.dirname(text)):
            directories[posixpath.dirname(posixpath.normpath(text))] += 1
    total = sum(directories.values())
    root = ""
    while total:
        below: Counter[str] = Counter()
        for directory, count in directories.items():
            if directory == root or not directory.startswith(root):
                continue
            rest = directory[len(root) :].lstrip("/")
            below[root.rstrip("/") + "/" + rest.partition("/")[0]] += count
        if not below:
            break
        best, count = below.most_common(1)[0]
        if count * 2 <= total or (root and posixpath.basename(best) in _INNER):
            break
        root = best if is_absolute(best) else best.lstrip("/")
    return "" if _is_nowhere(root) else root


@dataclass(slots=True)
class Roots:
    """Where the project lies: as the session was told, and as its commands have shown.

    An agent in a container sees the project elsewhere than the user's own machine does.
    """

    given: str = ""
    learnt: str = ""
    # The given root was seen to exist where the agent works.
    is_confirmed: bool = False

    def place(self, path: str) -> str | None:
        """The path relative to the project; None when it lies outside."""
        text = _plain(path)
        if not text:
            return None
        if not is_absolute(text):
            return _normal(text)
        given = self.given.replace("\\", "/")
        if is_absolute(given):
            inside = _below(text, given)
            if inside is not None:
                self.is_confirmed = True
                return inside
        if self.learnt:
            inside = _below(text, self.learnt)
            if inside is not None:
                return inside
        return None if self.is_confirmed else _in_container(text)

    def directory(self, path: str) -> str | None:
        """The same for a directory, where the root itself is the empty text."""
        return "" if self.is_root(path) else self.place(path)

    def is_root(self, path: str) -> bool:
        """Whether that is the project's own directory."""
        text = posixpath.normpath(_plain(path) or "..")
        roots = (self.given.replace("\\", "/"), self.learnt)
        if text in {".", *(posixpath.normpath(each) for each in roots if each)}:
            return True
        return not self.is_confirmed and text in (*CONTAINER_ROOTS, *CONTAINER_YARDS)

    def learn(self, directory: str) -> None:
        """A command went to this directory and worked there; the first such is taken for a root.

        Not when the session was told one, for then it may be another project; nor what belongs to
        the system.
        """
        text = posixpath.normpath(_plain(directory) or "..")
        if self.learnt or is_absolute(self.given.replace("\\", "/")):
            return
        if not is_absolute(text) or _is_nowhere(text):
            return
        if any(text == root or text.startswith(root + "/") for root in CONTAINER_ROOTS):
            return
        self.learnt = text


def _plain(path: str) -> str:
    """The path with plain separators; empty when it cannot be one, or is somebody's home."""
    text = path.strip()
    if not text or len(text) > LONGEST_PATH or text[0] == "~" or not text.isprintable():
        return ""
    return text.replace("\\", "/") if "\\" in text else text


def _normal(text: str) -> str | None:
    """A relative path without detours."""
    if "/." in text or "//" in text or text[0] == "." or text[-1] == "/":
        text = posixpath.normpath(text)
        if text in {".", ".."} or text.startswith("../"):
            return None
    return text


def _below(text: str, base: str) -> str | None:
    """What remains of an absolute path beneath another."""
    text, base = posixpath.normpath(text), posixpath.normpath(base)
    if _DRIVE.match(text):
        # Windows does not tell upper from lower case.
        if text.lower().startswith(base.rstrip("/").lower() + "/"):
            return text[len(base.rstrip("/")) + 1 :]
        return None
    prefix = base if base.endswith("/") else base + "/"
    return text[len(prefix) :] or None if text.startswith(prefix) else None


def _in_container(text: str) -> str | None:
    for root in (*CONTAINER_ROOTS, *CONTAINER_YARDS):
        if text.startswith(root):
            return _below(text, root)
    return None


def _is_nowhere(directory: str) -> bool:
    """Whether no project has its root there."""
    return (
        not directory
        or _HOMES.fullmatch(directory) is not None
        or _NO_PROJECT.fullmatch("/" + directory.lstrip("/").partition("/")[0]) is not None
    )
