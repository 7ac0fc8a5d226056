"""What a whole command line means: the most telling of its parts, and all that they touch."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seamark_sidecar.observer.calls import programs
from seamark_sidecar.observer.calls.parts import Part, part_of
from seamark_sidecar.observer.calls.patches import read_patch
from seamark_sidecar.observer.calls.paths import is_absolute, is_dependency
from seamark_sidecar.observer.calls.scripts import changed_files
from seamark_sidecar.observer.calls.shell import CLOSED, OPENED, Simple, parse
from seamark_sidecar.observer.calls.use import CHANGES, Action, Origin, Shows, Touch
from seamark_sidecar.observer.calls.workplace import Workplace

MOST_TOUCHES = 100
MOST_WRAPPERS = 8
MOST_NESTED = 3
LONGEST_SCRIPT = 60_000

_RANK = {action: rank for rank, action in enumerate(programs.PRECEDENCE)}
_ORIGIN_RANK = {origin: rank for rank, origin in enumerate(programs.ORIGINS)}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,60}=.{0,2000}", re.DOTALL)
_SWE_EDIT = re.compile(r"edit [0-9]{1,9}:[0-9]{1,9}\s")
_TAKES_OPTIONS = re.compile(r"-[A-Za-z0-9-]")


@dataclass(slots=True, kw_only=True)
class Meaning:
    """What a command line does, in the project's own paths."""

    action: Action = Action.RUN
    touches: dict[Touch, None] = field(default_factory=dict)
    outside: dict[str, None] = field(default_factory=dict)
    named: dict[str, None] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    places: dict[str, None] = field(default_factory=dict)
    runner: str = ""
    reference: str = ""
    origin: Origin | None = None
    gone: dict[str, None] = field(default_factory=dict)
    reverted: dict[str, None] = field(default_factory=dict)
    directory: str = ""
    shows: Shows = Shows.NOTHING
    written: str = ""


NO_PROGRAMS: Mapping[str, Action] = {}


def meaning_of(
    command: str,
    workplace: Workplace,
    *,
    keeps_directory: bool = False,
    directory: str = "",
    own: Mapping[str, Action] = NO_PROGRAMS,
) -> Meaning:
    """Reads the command line; `own` are programs that the user says the meaning of.

    A shell that lives on from call to call keeps the directory it went to; another is started
    in the one that is given.
    """
    if _SWE_EDIT.match(command):
        # What follows is the new text, no command.
        command = command.partition("\n")[0]
    if directory:
        inside = workplace.roots.directory(directory)
        directory = directory if inside is None else inside
    elif keeps_directory:
        directory = workplace.directory
    reading = _Reading(workplace, directory=directory)
    reading.read(_flat(parse(command)), own)
    meaning = reading.finish()
    if keeps_directory:
        # A shell that was led outside is brought back by the agent's own harness.
        workplace.directory = "" if is_absolute(reading.directory) else reading.directory
    return meaning


def script_effects(path: str, text: str, workplace: Workplace) -> tuple[str, ...]:
    """The project's files that a script or patch changes once it is carried out."""
    if len(text) > LONGEST_SCRIPT:
        text = text[:LONGEST_SCRIPT]
    extension = posixpath.splitext(path)[1]
    if extension in {".patch", ".diff"}:
        raw: Iterable[str] = (touch.path for touch in read_patch(text).touches)
    elif extension in {".sh", ".bash", ""}:
        reading = _Reading(workplace)
        reading.read(_flat(parse(text)), NO_PROGRAMS, is_trial=True)
        return tuple(
            dict.fromkeys(
                touch.path for touch in reading.meaning.touches if touch.action in CHANGES
            )
        )
    else:
        raw = changed_files(text)
    placed = (workplace.roots.place(each) for each in raw)
    return tuple(dict.fromkeys(each for each in placed if each is not None and each != path))


def _flat(simples: Iterable[Simple], depth: int = 0) -> Iterator[Simple]:
    """The commands without what only starts them, and with what they carry inside."""
    for simple in simples:
        words, is_fed = _unwrapped(simple.words)
        name = posixpath.basename(words[0]) if words else ""
        if name in programs.SHELLS and depth < MOST_NESTED:
            script = _shell_script(words) or ("" if _has_file(words) else simple.document)
            if script:
                yield OPENED
                yield from _flat(parse(script), depth + 1)
                yield CLOSED
                continue
            # `bash fix.sh` is the script.
            words = words[1:] if _has_file(words) else words
            words = tuple(word for word in words if not word.startswith("-")) or words
            if words and "/" not in words[0] and "." in words[0]:
                words = (f"./{words[0]}", *words[1:])
        if name == "eval" and depth < MOST_NESTED:
            yield from _flat(parse(" ".join(words[1:])), depth + 1)
        elif words is simple.words:
            yield simple
        else:
            yield replace(simple, words=words, is_piped=simple.is_piped and not is_fed)


def _unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The words from the program that does the work on; whether it is fed names as words."""
    is_fed = False
    for _ in range(MOST_WRAPPERS):
        if not words:
            break
        name = posixpath.basename(words[0])
        if name in programs.WRAPPERS:
            words = _after_options(words[1:], programs.WRAPPERS[name]) or words[:1]
            if len(words) == 1 and words[0] == name:
                break
        elif name == "xargs":
            is_fed = True
            words = _after_options(words[1:], 0) or ("echo",)
        elif (name, *words[1:2]) in programs.RUNNERS_OF:
            own = 1 if name in {"docker", "podman"} else 0
            inner = _after_options(words[2:], own)
            # The project's own task of that name says more than a program would.
            if not inner or (name in programs.TASK_RUNNERS and "test" in inner[0]):
                break
            words = inner
        elif _ASSIGNMENT.fullmatch(words[0]) and len(words) > 1:
            words = words[1:]
        else:
            break
    return words, is_fed


def _after_options(words: tuple[str, ...], own: int) -> tuple[str, ...]:
    """What is left after options, their values, assignments and some words of its own."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if _TAKES_OPTIONS.match(word):
            at += 2 if word in programs.WRAPPER_OPTIONS and at + 1 < len(words) else 1
        elif _ASSIGNMENT.fullmatch(word):
            at += 1
        elif own:
            own -= 1
            at += 1
        else:
            break
    return words[at:]


def _shell_script(words: Sequence[str]) -> str:
    """What stands after `-c`, or `-lc`."""
    for number, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[number + 1]
    return ""


def _has_file(words: Sequence[str]) -> bool:
    return any(not word.startswith("-") for word in words[1:])


@dataclass(slots=True)
class _Reading:
    """Puts the parts of one command line together."""

    workplace: Workplace
    directory: str = ""
    meaning: Meaning = field(default_factory=Meaning)
    # The best action so far, of the line itself and of what runs within its words.
    action: Action | None = None
    inner: Action | None = None
    # What is looked for, with the kind of search.
    patterns: dict[str, Action | None] = field(default_factory=dict)
    # A directory that was gone to, before anything was done there.
    learnable: str = ""

    def read(
        self, simples: Iterable[Simple], own: Mapping[str, Action], *, is_trial: bool = False
    ) -> None:
        """Takes the commands in, one after another."""
        outer: list[str] = []
        for simple, part in _with_parts(simples):
            if simple is OPENED:
                outer.append(self.directory)
            elif simple is CLOSED:
                self.directory = outer.pop() if outer else ""
            elif simple.words and simple.words[0] in {"cd", "pushd"}:
                self._go(simple.words)
            else:
                if own and simple.words and simple.words[0] in own:
                    part.action = own[simple.words[0]]
                    if part.action is Action.TEST:
                        part.runner = simple.words[0]
                self._add(part, simple, is_trial=is_trial)

    def finish(self) -> Meaning:
        """The meaning of all that was read."""
        meaning = self.meaning
        meaning.action = self.action or self.inner or Action.RUN
        own = [each for each, kind in self.patterns.items() if kind is meaning.action]
        meaning.patterns = tuple(own or self.patterns)
        meaning.directory = "" if is_absolute(self.directory) else self.directory
        if meaning.origin is None and any(
            is_dependency(path)
            for path in (
                *meaning.outside,
                *(touch.path for touch in meaning.touches),
                *meaning.places,
            )
        ):
            meaning.origin = Origin.DEPENDENCY
        return meaning

    def _go(self, words: Sequence[str]) -> None:
        target = next((word for word in words[1:] if not word.startswith("-")), "")
        if not target or "$" in target:
            return
        path = self._joined(target)
        if is_absolute(path):
            self.learnable = self.learnable or path
        inside = self.workplace.roots.directory(path)
        if inside is None and not is_absolute(path):
            # Above the project, or in somebody's home.
            inside = "/" + path if path.startswith((".", "~")) else path
        self.directory = path if inside is None else inside

    def _joined(self, path: str, directory: str = "") -> str:
        base = directory or self.directory
        if not base or is_absolute(path) or path.startswith("~"):
            return path
        return posixpath.normpath(posixpath.join(base, path))

    def _add(self, part: Part, simple: Simple, *, is_trial: bool) -> None:
        action = part.action
        if action is not None:
            if self.learnable:
                self.workplace.roots.learn(self.learnable)
                again = self.workplace.roots.directory(self.directory)
                self.directory = self.directory if again is None else again
                self.learnable = ""
            held = self.inner if simple.is_inner else self.action
            if held is None or _RANK[action] < _RANK[held]:
                if simple.is_inner:
                    self.inner = action
                else:
                    self.action = action
        meaning = self.meaning
        if part.origin is not None and (
            meaning.origin is None or _ORIGIN_RANK[part.origin] < _ORIGIN_RANK[meaning.origin]
        ):
            meaning.origin = part.origin
        meaning.runner = meaning.runner or part.runner
        meaning.reference = meaning.reference or part.reference
        meaning.shows = meaning.shows or part.shows
        meaning.written = meaning.written or part.written
        for pattern in part.patterns:
            self.patterns.setdefault(pattern, action)
        self._add_paths(part, simple, is_trial=is_trial)

    def _add_paths(self, part: Part, simple: Simple, *, is_trial: bool) -> None:
        meaning, workplace = self.meaning, self.workplace
        base = self._joined(part.directory) if part.directory else ""
        if part.opens:
            workplace.open_file = self._placed(part.opens, base) or ""
        if part.span is not None and not part.is_filter and workplace.open_file and part.action:
            self._touch(Touch(workplace.open_file, part.action, *part.span))
        for touch in part.touches:
            path = self._placed(touch.path, base)
            if path is not None and len(meaning.touches) < MOST_TOUCHES:
                placed = touch if path == touch.path else replace(touch, path=path)
                self._touch(placed)
                if touch.action is Action.WRITE and simple.document and not is_trial:
                    workplace.note_script(path, script_effects(path, simple.document, workplace))
        for raw, into in (
            (part.named, meaning.named),
            (part.gone, meaning.gone),
        ):
            for each in raw:
                path = self._placed(each, base)
                if path is not None:
                    into[path] = None
        for each in part.reverted:
            path = self._placed_directory(each, base)
            if path is not None:
                meaning.reverted[path or "."] = None
        for each in part.places:
            path = self._placed_directory(each, base)
            if path:
                meaning.places[path] = None
        for each in part.scripts:
            path = self._placed(each, base)
            for changed in workplace.effects(path) if path is not None else ():
                self._touch(Touch(changed, Action.EDIT))

    def _touch(self, touch: Touch) -> None:
        self.meaning.touches[touch] = None
        if touch.action in CHANGES:
            # Removed or set back earlier on the same line, and made anew.
            self.meaning.gone.pop(touch.path, None)
            self.meaning.reverted.pop(touch.path, None)

    def _placed(self, path: str, base: str) -> str | None:
        """The project's own path; what lies outside is noted as such."""
        joined = self._joined(path, base)
        inside = self.workplace.roots.place(joined)
        is_outside = inside is None and not self.workplace.roots.is_root(joined)
        if is_outside and len(self.meaning.outside) < MOST_TOUCHES:
            self.meaning.outside[joined] = None
        return inside

    def _placed_directory(self, path: str, base: str) -> str | None:
        joined = self._joined(path, base)
        if self.workplace.roots.is_root(joined):
            return ""
        return self._placed(path, base)


def _with_parts(simples: Iterable[Simple]) -> list[tuple[Simple, Part]]:
    """The commands with what they do, once it is known what their output goes through."""
    found: list[tuple[Simple, Part]] = []
    before: Part | None = None
    for simple in simples:
        part = part_of(simple)
        if simple.is_piped and part.is_filter:
            if before is not None:
                _pass_through(before, part)
        else:
            before = part
        found.append((simple, part))
    return found


def _pass_through(before: Part, part: Part) -> None:
    """What a filter in a pipe and the command that feeds it say about each other."""
    if part.touches and before.action in {None, Action.READ}:
        # `echo x | tee file`
        part.action = Action.WRITE
    elif before.action is not Action.READ:
        part.patterns = ()
    elif part.patterns:
        # `cat file | grep x`
        part.action = Action.SEARCH_TEXT
        part.places = [touch.path for touch in before.touches]
    elif part.span is not None:
        # `nl file | sed -n '10,20p'`
        first, last = part.span
        before.touches = [
            touch if touch.first_line else replace(touch, first_line=first, last_line=last)
            for touch in before.touches
        ]
