"""Shows how an installation goes on: a moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from seamark_sidecar.cli.terminal import complain, plain
from seamark_sidecar.models.progress import OnProgress, Stage


@contextmanager
def progress_shown(*, quiet: bool) -> Iterator[OnProgress]:
    """Something to report progress to; it writes to stderr, so that stdout holds the answer alone.

    Args:
        quiet: Say nothing to a program that reads JSON; a person at a terminal still sees it.
    """
    console = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)
    if console.is_terminal and sys.stderr.isatty():
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
            task = progress.add_task("", total=None)
            yield lambda stage, about: progress.update(task, description=_said(stage, about))
    elif quiet:
        yield lambda stage, about: None
    else:
        yield lambda stage, about: complain(_said(stage, about))


def _said(stage: Stage, about: str) -> str:
    return plain(f"{stage.value} {about}")
