"""`seamark replay`: what memory would have learnt from sessions that are over."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from seamark.wire.v1 import operator_pb2 as wire
from seamark_sidecar.cli import background
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.layout import counted
from seamark_sidecar.cli.observed import StepOf, answer_json, lines, sum_lines
from seamark_sidecar.cli.options import project_hint
from seamark_sidecar.cli.output import show, show_json
from seamark_sidecar.cli.replaying import Replayer
from seamark_sidecar.cli.terminal import complain, is_interactive, plain, text_width
from seamark_sidecar.model.session import SessionType
from seamark_sidecar.recordings import detect
from seamark_sidecar.recordings.recording import Recording, Unreadable
from seamark_sidecar.settings import Settings

# Seconds; a sidecar that was started for this ends by itself.
_IDLE_EXIT = 900.0
_LONGEST_NAME = 40


@click.command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--calls", is_flag=True, help="With --json: every tool call as it was understood.")
@click.option(
    "--session-type",
    metavar="T",
    type=click.Choice([each.value for each in SessionType]),
    default=SessionType.BUILD.value,
    show_default=True,
    help="What kind of work they are: build, insights, terminal, ...",
)
@click.option("--vouch", is_flag=True, help="Learn from them. Only for a person at a terminal.")
@click.option(
    "--project",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --vouch: a directory inside the project that learns.  "
    "[default: the current directory]",
)
@click.option("--keep", is_flag=True, help="Leave the sessions open, for seamark observe.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each session.")
@click.pass_context
def replay(
    ctx: click.Context,
    paths: tuple[Path, ...],
    calls: bool,
    session_type: str,
    vouch: bool,
    project: Path | None,
    keep: bool,
    as_json: bool,
) -> None:
    """Show what memory would have learnt from sessions that agents left behind.

    PATH is a file or a directory of them: transcripts of Claude Code, trajectories of SWE-agent
    and mini-SWE-agent, lists of LangChain, LangSmith or OpenAI messages, or the neutral form, all
    also as gzip. They pass through the same SDK and sidecar as the sessions of a running agent.

    Nothing is learnt from them, because nobody watched them happen, unless you vouch for them.
    A file that cannot be read is named; the others are replayed, and the exit code is 1.

    \b
    Example:
      seamark replay ~/.claude/projects
      seamark replay runs/*.traj --json --calls
    """
    if vouch and not is_interactive():
        raise CommandFailed(
            "NOT_INTERACTIVE", "vouching for recordings needs a person at a terminal"
        )
    if vouch and keep:
        raise click.UsageError("--keep leaves sessions open, --vouch ends them; use one.")
    # What the SDK would warn an app of is put right here, or ends the command.
    logging.getLogger("seamark").addHandler(logging.NullHandler())
    settings = Settings.from_env(os.environ)
    started = replace(settings, idle_exit=settings.idle_exit or _IDLE_EXIT)
    background.start(started)
    files = [file for path in paths for file in detect.files(path)]
    if not files:
        raise CommandFailed("NOTHING_TO_REPLAY", "no recordings are found there")
    faults = 0
    answers: list[wire.ObserveSessionResponse] = []
    with connect(settings) as sidecar, _Progress(len(files)) as progress:
        replayer = Replayer(
            sidecar,
            revive=lambda: background.start(started),
            session_type=session_type,
            project=project_hint(project).path if vouch else None,
            vouched=vouch,
            keep=keep,
        )
        with closing(replayer):
            for file in files:
                try:
                    recordings = detect.read(file)
                except Unreadable as error:
                    faults += 1
                    with progress.aside():
                        complain(f"{file} was not replayed: {error}")
                    recordings = []
                for recording in recordings:
                    answer = replayer.replay(recording, progress.count_event)
                    with progress.aside():
                        _show(recording, answer, with_calls=calls, as_json=as_json)
                    if not as_json:
                        del answer.calls[:], answer.files[:]
                        answers.append(answer)
                progress.advance(file)
        if replayer.refused:
            faults += 1
            complain(f"{counted(replayer.refused, 'event')} could not be replayed")
    if not as_json and len(answers) > 1:
        show(sum_lines(answers), {}, as_json=False)
    ctx.exit(1 if faults else 0)


def _show(
    recording: Recording,
    answer: wire.ObserveSessionResponse,
    *,
    with_calls: bool,
    as_json: bool,
) -> None:
    step_of = _own_steps(recording)
    if as_json:
        show_json(answer_json(answer, recording.session_id, step_of, with_calls=with_calls))
        return
    heading = Text().append(f"Session {plain(recording.session_id)}", "bold")
    if recording.repo:
        heading.append(f" of {plain(recording.repo)}")
    show([heading, *lines(answer, text_width(), step_of), Text()], {}, as_json=False)


def _own_steps(recording: Recording) -> StepOf:
    """From the sidecar's steps to those of the recording."""
    steps = recording.steps()

    def own(step: int) -> int:
        return steps[min(step, len(steps) - 1)] if steps else step

    return own


class _Progress:
    """Says on a terminal how far it is; elsewhere nothing."""

    def __init__(self, files: int) -> None:
        console = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)
        self._events = 0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[events]} events", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            # What is printed meanwhile belongs where it was sent.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._is_shown = console.is_terminal and sys.stderr.isatty()
        self._task = self._bar.add_task("replaying", total=files, events="0")

    def __enter__(self) -> Self:
        if self._is_shown:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._bar.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Takes the bar away while something else is printed."""
        self.__exit__()
        yield
        self.__enter__()

    def count_event(self) -> None:
        """One more event was sent."""
        self._events += 1

    def advance(self, file: Path) -> None:
        """A file is done."""
        name = plain(file.name)[:_LONGEST_NAME]
        self._bar.update(self._task, advance=1, description=name, events=f"{self._events:,}")
