"""The tools an agent works with in a checkout."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from langchain_core.tools import BaseTool, tool

COMMAND_SECONDS = 60.0
LONGEST_OUTPUT = 12_000
MOST_MATCHES = 40
NOT_SEARCHED = frozenset({".git", ".pytest_cache", "__pycache__"})


class OutsideCheckout(ValueError):
    """A path that does not lead to a file of the checkout."""


def tools_for(
    checkout: Path, environ: Mapping[str, str], *, seconds: float = COMMAND_SECONDS
) -> list[BaseTool]:
    """Reading, editing, searching and running commands, all of it inside the checkout."""

    @tool
    def read_file(path: str) -> str:
        """Returns the text of a file of the project."""
        try:
            return _inside(checkout, path).read_text(encoding="utf-8", errors="replace")
        except (OSError, OutsideCheckout) as error:
            return f"error: {path} cannot be read: {_reason(error)}"

    @tool
    def edit_file(path: str, old: str, new: str) -> str:
        """Replaces the one place where `old` stands in a file by `new`."""
        try:
            file = _inside(checkout, path)
            text = file.read_text(encoding="utf-8")
            if (count := text.count(old)) != 1:
                return f"error: the old text stands {count} times in {path}, not once"
            file.write_text(text.replace(old, new), encoding="utf-8")
        except (OSError, UnicodeDecodeError, OutsideCheckout) as error:
            return f"error: {path} cannot be edited: {_reason(error)}"
        return f"edited {path}"

    @tool
    def search(pattern: str) -> str:
        """Finds a literal text in the files of the project, as `path:line: text`."""
        matches = list(_matches(checkout, pattern))
        shown = matches[:MOST_MATCHES]
        if len(matches) > len(shown):
            shown.append(f"({len(matches) - len(shown)} more)")
        return "\n".join(shown) or "no match"

    @tool(response_format="content_and_artifact")
    def run(command: str) -> tuple[str, int]:
        """Runs a shell command in the project; its output ends with the exit code."""
        output, code = _run(command, checkout, environ, seconds)
        return f"{output[-LONGEST_OUTPUT:].rstrip()}\nexit code {code}".lstrip(), code

    return [read_file, edit_file, search, run]


def _inside(checkout: Path, path: str) -> Path:
    root = checkout.resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root):
        raise OutsideCheckout("it is outside the project")
    return file


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _matches(checkout: Path, pattern: str) -> Iterator[str]:
    for file in sorted(checkout.rglob("*")):
        path = file.relative_to(checkout)
        if not NOT_SEARCHED.isdisjoint(path.parts) or file.is_symlink() or not file.is_file():
            continue
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if pattern in line:
                yield f"{path}:{number}: {line.strip()[:200]}"


def _run(
    command: str, checkout: Path, environ: Mapping[str, str], seconds: float
) -> tuple[str, int]:
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=checkout,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        # A group of its own, so that a command that hangs ends with everything it started.
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            output, _ = process.communicate()
            output += f"\nstopped after {seconds:g} s"
        return output, process.returncode
