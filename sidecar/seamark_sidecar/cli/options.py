"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.cli.failure import CommandFailed

MOST_MEMORIES = 1000

_Function = TypeVar("_Function", bound=Callable[..., Any])


def sendable(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """A callback that refuses text which is not valid UTF-8 and so cannot be sent."""
    for text in value if isinstance(value, tuple) else (value,):
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"{text!r} is not valid UTF-8.", param=parameter) from None
    return value


def json_option(function: _Function) -> _Function:
    """`--json`, which every command has."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")(
        function
    )


def project_option(function: _Function) -> _Function:
    """`--project PATH`."""
    return click.option(
        "--project",
        metavar="PATH",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A directory inside the project.  [default: the current directory]",
    )(function)


def limit_option(default: int) -> Callable[[_Function], _Function]:
    """`--limit N`."""
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(1, MOST_MEMORIES),
        default=default,
        show_default=True,
        help="Show at most this many.",
    )


def project_hint(project: Path | None) -> wire.ProjectHint:
    """The project at the path; None means the one around the current directory."""
    try:
        # Resolved, as the sidecar does it, so that files can be told to lie inside.
        path = str((project or Path()).resolve())
    except FileNotFoundError:
        raise CommandFailed(
            "NO_PROJECT", "the current directory no longer exists; say which: --project PATH"
        ) from None
    try:
        return wire.ProjectHint(path=path)
    except (UnicodeEncodeError, ValueError):
        raise CommandFailed(
            "NO_PROJECT", f"the path {path!r} is not valid UTF-8; rename it or use another"
        ) from None
