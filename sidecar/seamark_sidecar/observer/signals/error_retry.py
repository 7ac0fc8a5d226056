"""The same error again and again, and what ended it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seamark.events import ToolReturned
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.attempts import attempt, covers, identity_of, is_inline
from seamark_sidecar.observer.behaviour.effects import changed_files
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.use import Action, ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.errors import Failure, failure_in
from seamark_sidecar.observer.text.wording import finding_key

MOST_ERRORS = 200
# Of them, those that a later edit or success may still end.
MOST_OPEN = 12
MOST_COMMANDS = 8
MOST_FILES = 8
LONGEST_COMMAND = 120
# This many different ones make a session one of trouble.
EARLY_ERRORS = 2

# A search that finds nothing and a listing of what is not there end like a failure.
_LOOKS = frozenset({Action.SEARCH_TEXT, Action.SEARCH_FILES, Action.READ, Action.WEB, Action.UI})
# Programs that can mend what is broken; others only look.
_MENDING = frozenset({
    "pip", "pip3", "uv", "poetry", "pipenv", "conda", "npm", "yarn", "pnpm", "bun", "apt",
    "apt-get", "brew", "cargo", "go", "gofmt", "goimports", "bundle", "gem", "composer", "mvn",
    "gradle", "make", "cmake", "git", "black", "ruff", "isort", "prettier", "eslint", "mkdir",
    "chmod", "cp", "mv", "rm", "ln", "touch", "docker", "mise", "rustup", "dotnet", "sudo",
    "patch", "unset", "export",
})  # fmt: skip
# A program of the project, or one that is installed with it.
_PROJECTS_OWN = re.compile(
    r"(?:python3?|uv run(?: python3?)?|poetry run(?: python3?)?) -m \S|\./\S"
)
_PUT_ASIDE = re.compile(r"\bgit stash(?: push| save| -\w| --\w|\s*$|\s*(?:&&|;|\n))")
_TAKEN_UP = re.compile(r"\bgit stash (?:pop|apply)\b")
# The machine's fault, met by whatever is run.
_SURROUNDINGS = re.compile(
    r"command not found|[Nn]o module named|ModuleNotFoundError|ImportError|[Pp]ermission denied|"
    r"[Cc]onnection refused|timed out"
)
# A slip of the pen, another one each time; the same only as long as it stands.
_SLIP = re.compile(r"(?:Syntax|Indentation|Tab)Error\b|syntax error|^expected ")
# What a script of the agent's own is there to show, unless it is made to fail.
_SHOWN = re.compile(r"Assert|assert|Failed\b|FAIL")
_MADE_TO = re.compile(r"\bassert (?:0|False)$")


@dataclass(slots=True)
class _Trouble:
    failure: Failure
    tool: str
    first_step: int
    last_step: int
    # How often it was met after something had been tried.
    count: int = 1
    last_command: str = ""
    # How many changes the session had made when it was last seen.
    changes: int = 0
    drafts: int = 0
    # What failed with it, in the order of first failure, by what tells it apart.
    commands: dict[str, str] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    # The last done since it was last seen.
    edit: str = ""
    run: str = ""
    # It was met without the session's changes as well.
    was_there: bool = False
    is_over: bool = False
    ended_by: str = ""
    ended_step: int = -1
    steps: tuple[int, ...] = ()


class ErrorRetry:
    """Counts errors by fingerprint and keeps what stood between the last one and a success."""

    def __init__(self) -> None:
        self._troubles: dict[str, _Trouble] = {}
        self._open: dict[str, _Trouble] = {}
        self._scratch = Scratch()
        self._changes = 0
        # Changes of the agent's own scripts.
        self._drafts = 0
        # The session's own changes are out of the way.
        self._is_as_it_was = False

    def see(self, moment: Moment) -> None:
        use, result = moment.use, moment.result
        if result is None or use is None or not isinstance(moment.body, ToolReturned):
            return
        self._scratch.see(moment)
        changed = changed_files(moment)
        if changed:
            self._changed(changed)
        if use.reverted or _PUT_ASIDE.search(use.command):
            # The same on the code as it was is a second meeting, and a telling one.
            self._changes += 1
            self._is_as_it_was = True
        elif _TAKEN_UP.search(use.command):
            self._is_as_it_was = False
        if not use.command or use.action in _LOOKS:
            return
        failure = result.failure
        if failure is None and result.tests is not None and result.tests.failed > 0:
            # Behind a pipe, a run that failed ends well.
            failure = failure_in(moment.body.result)
        if failure is None:
            self._passed(use, moment.step)
        elif failure.is_named and not self._is_own(failure):
            self._failed(failure, use, moment)

    def signals(self) -> Iterable[Signal]:
        early = len(self._troubles) >= EARLY_ERRORS
        for print_, trouble in self._troubles.items():
            if trouble.count >= 2:
                yield _signal(print_, trouble, early=early)

    def size(self) -> int:
        return 1500 * len(self._troubles) + 100 * len(self._scratch)

    def shrink(self) -> None:
        halve(self._troubles)
        self._open = {key: each for key, each in self._open.items() if key in self._troubles}
        self._scratch.shrink()

    def _changed(self, files: Sequence[str]) -> None:
        # What an agent does to a script of its own is no attempt on the error.
        ours = [path for path in files if path not in self._scratch]
        if not ours:
            self._drafts += 1
            return
        self._changes += 1
        self._is_as_it_was = False
        for trouble in self._open.values():
            trouble.edit = f"edited `{ours[-1]}`"
            if len(trouble.files) < MOST_FILES:
                trouble.files.update(dict.fromkeys(ours[:MOST_FILES]))

    def _passed(self, use: ToolUse, step: int) -> None:
        if not self._open:
            return
        command = attempt(use.command)
        identity = identity_of(command)
        mends = _may_mend(use, command)
        for print_ in list(self._open):
            trouble = self._open[print_]
            if covers(command, use.runner, trouble.commands):
                # Between the edit that helped and the run that proves it, agents look around.
                instead = (
                    "" if identity in trouble.commands else f"ran `{command[:LONGEST_COMMAND]}`"
                )
                trouble.ended_by = trouble.edit or trouble.run or instead
                trouble.is_over = True
                trouble.ended_step = step
                del self._open[print_]
            elif mends:
                trouble.run = f"ran `{command[:LONGEST_COMMAND]}`"

    def _failed(self, failure: Failure, use: ToolUse, moment: Moment) -> None:
        print_, command = failure.fingerprint, attempt(use.command)
        identity = identity_of(command)
        trouble = self._troubles.get(print_)
        if trouble is not None and trouble.is_over and _SLIP.search(failure.error):
            trouble = None
        if trouble is None:
            make_room(self._troubles, MOST_ERRORS)
            trouble = self._troubles[print_] = _Trouble(
                failure, use.tool, moment.step, moment.step, steps=(moment.step,)
            )
        elif self._is_again(trouble, identity, use.command):
            trouble.count += 1
            trouble.was_there |= self._is_as_it_was
            trouble.steps = (*trouble.steps[:11], moment.step)
        trouble.last_step = moment.step
        trouble.last_command = use.command
        trouble.changes, trouble.drafts = self._changes, self._drafts
        if len(trouble.commands) < MOST_COMMANDS:
            trouble.commands.setdefault(identity, command)
        if len(trouble.files) < MOST_FILES:
            near = (path for path in moment.in_sight[:4] if path not in self._scratch)
            trouble.files.update(dict.fromkeys(near))
        trouble.edit = trouble.run = trouble.ended_by = ""
        trouble.is_over = False
        trouble.ended_step = -1
        self._open.pop(print_, None)
        if len(self._open) >= MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[print_] = trouble

    def _is_again(self, trouble: _Trouble, identity: str, command: str) -> bool:
        """Whether it was tried again; the same run shown otherwise is a second look."""
        if trouble.changes != self._changes:
            return True
        if trouble.last_command == command:
            return trouble.drafts == self._drafts
        # Code given on the command line asks a question; its error is the answer.
        is_attempt = not is_inline(identity) or _SURROUNDINGS.search(trouble.failure.error)
        return identity not in trouble.commands and bool(is_attempt)

    def _is_own(self, failure: Failure) -> bool:
        """Whether it lies in what the agent wrote for itself, and is no check of the project."""
        if not self._scratch.has_named(failure.file):
            return False
        return not _SHOWN.search(failure.error) or bool(_MADE_TO.search(failure.error))


def _may_mend(use: ToolUse, command: str) -> bool:
    """Whether a run that went well may have changed something, and not only looked."""
    if command.split(" ", 1)[0] in _MENDING:
        return True
    return use.action is Action.RUN and _PROJECTS_OWN.match(command) is not None


def _signal(print_: str, trouble: _Trouble, *, early: bool) -> Signal:
    steps = trouble.ended_step - trouble.first_step if trouble.is_over else -1
    return Signal(
        kind=SignalKind.ERROR_RETRY,
        confidence=round(min(0.95, 0.75 + 0.05 * trouble.count + 0.1 * bool(trouble.ended_by)), 2),
        type=MemoryType.ERROR_PATTERN,
        content=_wording(trouble),
        key=finding_key("error_retry", print_),
        files=tuple(trouble.files)[:MOST_FILES],
        step=trouble.steps[1],
        details={
            "tool": trouble.tool,
            "error": trouble.failure.error,
            "fingerprint": print_,
            "place": trouble.failure.place,
            "count": trouble.count,
            "steps": trouble.steps,
            "pre_existing": trouble.was_there,
            "resolved": trouble.is_over,
            "resolved_how": trouble.ended_by,
            "steps_to_resolve": steps,
        },
        early=early,
    )


def _wording(trouble: _Trouble) -> str:
    command = next(iter(trouble.commands.values()))[:LONGEST_COMMAND]
    place = trouble.failure.place
    where = f" in {place}" if place and place not in trouble.failure.error else ""
    said = f"`{command}` failed {trouble.count} times with `{trouble.failure.error[:200]}`{where}"
    if trouble.was_there:
        return f"{said}, also without the session's own changes: it fails anyway."
    if trouble.ended_by:
        return f"{said}; it passed after the agent {trouble.ended_by}."
    return f"{said}."
