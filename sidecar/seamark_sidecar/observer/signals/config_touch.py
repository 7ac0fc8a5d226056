"""Configuration that is changed together with code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from seamark.events import UserSaid
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, returned_use
from seamark_sidecar.observer.behaviour.file_roles import config_type, is_code
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import Window, halve, make_room
from seamark_sidecar.observer.calls.use import ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

MOST_CONFIGS = 32
MOST_FILES = 16
MOST_NAMED = 4
EARLY_EDITS = 2
# Further apart they are two pieces of work.
TOGETHER_STEPS = 30
# Fewer are an answer, and not another task.
LEAST_WORDS = 4

_PUT_BACK = re.compile(r"\bgit show \S{1,200}:\S{1,200} >")
# Commands that put a dependency into the file that lists them.
_ADDING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bgo get (?!-?-h)\S"), "go.mod"),
    (re.compile(r"\bnpm (?:install|i|add|uninstall) (?:-\S+ )*[@\w]"), "package.json"),
    (re.compile(r"\b(?:yarn|pnpm|bun) (?:add|remove) (?:-\S+ )*[@\w]"), "package.json"),
    (re.compile(r"\b(?:poetry|uv|pdm|hatch) (?:add|remove) \S"), "pyproject.toml"),
    (re.compile(r"\bcargo (?:add|remove) \S"), "Cargo.toml"),
    (re.compile(r"\bbundle add \S"), "Gemfile"),
    (re.compile(r"\bcomposer require \S"), "composer.json"),
)


# Commands without these words add nothing.
_ADDING_WORDS = (" get ", "install ", " i ", " add ", " remove ", " require ")
LONGEST_COMMAND = 400


@dataclass(slots=True)
class _Touched:
    # Of its first change, and of the first that made it a finding.
    step: int
    found_step: int = -1
    code: dict[str, None] = field(default_factory=dict)


class ConfigTouch:
    """Joins the configuration files changed with the code files changed about then.

    What a person asks for next is another piece of work.
    """

    def __init__(self) -> None:
        self._configs: dict[str, _Touched] = {}
        # Those of the present piece of work.
        self._recent: Window[str] = Window(TOGETHER_STEPS, MOST_CONFIGS)
        self._code: Window[str] = Window(TOGETHER_STEPS, MOST_FILES)
        self._scratch = Scratch()
        self._task = Task()

    def see(self, moment: Moment) -> None:
        if isinstance(moment.body, UserSaid):
            self._task.see(moment)
            if len(moment.body.text[:200].split()) >= LEAST_WORDS:
                self._recent = Window(TOGETHER_STEPS, MOST_CONFIGS)
                self._code = Window(TOGETHER_STEPS, MOST_FILES)
            return
        use = returned_use(moment)
        if use is not None and (use.gone or use.reverted):
            self._undone((*use.gone, *use.reverted))
        for path in self._changed(use, moment):
            if config_type(path):
                self._configured(path, moment.step)
            elif is_code(path):
                self._coded(path, moment.step)

    def signals(self) -> Iterable[Signal]:
        found = [(path, each) for path, each in self._configs.items() if each.code]
        for path, touched in sorted(found, key=lambda item: item[1].found_step):
            yield self._signal(path, touched)

    def size(self) -> int:
        return 1500 * len(self._configs) + 100 * len(self._scratch) + 5_000

    def shrink(self) -> None:
        halve(self._configs)
        self._scratch.shrink()

    def _changed(self, use: ToolUse | None, moment: Moment) -> Iterator[str]:
        if use is not None and use.command and moment.result is not None:
            command = use.command[:LONGEST_COMMAND]
            if "git show" in command and _PUT_BACK.search(command):
                return
            if moment.result.failure is None:
                yield from _added(command, use.directory)
        changed = changed_files(moment)
        if changed:
            self._scratch.see(moment)
            yield from (path for path in changed if path not in self._scratch)

    def _configured(self, path: str, step: int) -> None:
        touched = self._configs.get(path)
        if touched is None:
            make_room(self._configs, MOST_CONFIGS)
            touched = self._configs[path] = _Touched(step)
        self._recent.add(path, step)
        for file in self._code.items(step):
            _join(touched, file, step)

    def _coded(self, path: str, step: int) -> None:
        self._code.add(path, step)
        for config in self._recent.items(step):
            if config in self._configs:
                _join(self._configs[config], path, step)

    def _undone(self, paths: tuple[str, ...]) -> None:
        """Removed, or as it was: there is no change left of it."""
        for path in list(self._configs) if "." in paths else paths:
            self._configs.pop(path, None)

    def _signal(self, path: str, touched: _Touched) -> Signal:
        files = tuple(touched.code)
        named = files[:MOST_NAMED]
        return Signal(
            kind=SignalKind.CONFIG_TOUCH,
            step=touched.found_step,
            confidence=0.8,
            key=finding_key("config_touch", path),
            files=(path, *named),
            details={
                "config_file": path,
                "config_type": config_type(path),
                "task_type": self._task.kind,
                "files_modified": files,
            },
            content=f"`{path}` was changed together with "
            f"{', '.join(f'`{file}`' for file in named)}; such a change may need both.",
            type=MemoryType.CAUSAL_DEPENDENCY,
            early=len(files) >= EARLY_EDITS,
        )


def _added(command: str, directory: str) -> Iterator[str]:
    """The files that list dependencies, as far as the command adds one."""
    if any(word in command for word in _ADDING_WORDS):
        for adding, name in _ADDING:
            if adding.search(command):
                yield posixpath.join(directory, name)


def _join(touched: _Touched, file: str, step: int) -> None:
    if not touched.code:
        touched.found_step = step
    if len(touched.code) < MOST_FILES:
        touched.code[file] = None
