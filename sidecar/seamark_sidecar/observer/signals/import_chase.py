"""Reads that follow the imports of the file read before."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from seamark.events import ToolReturned
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import read_files
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

WITHIN_STEPS = 5
# Imports stand at the head of a file.
HEAD = 1_200
MOST_IMPORTS = 40
MOST_PARENTS = 8
MOST_CHASES = 100
MOST_SIGNALS = 15

# What an import names, in the languages where a path can be made of it, after the line number
# that some tools put before a line.
_IMPORT = re.compile(
    r"[ \t\d:|→-]{0,12}(?:"
    r"from[ \t]{1,4}(?P<python_from>\.{0,4}[\w.]{0,120})[ \t]{1,4}import[ \t(]{1,4}"
    r"(?P<names>[\w, *]{0,200})"
    r"|import[ \t]{1,4}(?P<python>[\w.]{1,120})[ \t]{0,4}(?:$|,|;| as )"
    r"|(?:import|export)\b[^'\"]{0,200}['\"](?P<script>[^'\"]{1,200})['\"]"
    r"|[^'\"]{0,80}\brequire\(['\"](?P<require>[^'\"]{1,200})['\"]\)"
    r"|#[ \t]{0,2}include[ \t]{0,2}[\"<](?P<include>[\w./-]{1,120})"
    r"|(?:[\w.]{1,30}[ \t])?\"(?P<go>[\w.-]{1,60}(?:/[\w.-]{1,60}){1,10})\"$"
    r"|(?:pub )?use[ \t]{1,2}(?:crate|super|self)::(?P<rust>[\w:]{1,120})"
    r")"
)
# Heads without these have no imports.
_MARKS = ("import", "require(", "include", "use crate", "use super", "use self", "from '", 'from "')
LONGEST_LINE = 300
_SUFFIX = re.compile(
    r"\.(?:py|pyi|[jt]sx?|mjs|cjs|mts|vue|svelte|go|rs|java|kt|rb|h|hpp|c|cc|cpp|php|cs)$"
)
_INDEX = ("/__init__", "/index", "/mod", "/main")


@dataclass(frozen=True, slots=True)
class _Parent:
    step: int
    imports: frozenset[str]


@dataclass(slots=True)
class _Chase:
    step: int
    steps: int
    is_searched: bool
    count: int = 1


class ImportChase:
    """Remembers what the files read last import, and sees them being read."""

    def __init__(self) -> None:
        self._parents: dict[str, _Parent] = {}
        self._chases: dict[tuple[str, str], _Chase] = {}
        self._searched_step = -1
        self._task = Task()

    def see(self, moment: Moment) -> None:
        if moment.result is None or moment.use is None:
            self._task.see(moment)
            return
        if moment.use.action in (Action.SEARCH_TEXT, Action.SEARCH_FILES):
            self._searched_step = moment.step
        read = read_files(moment)
        if not read:
            return
        for path in read:
            self._follow(path, moment.step)
        if len(read) == 1 and isinstance(moment.body, ToolReturned) and _SUFFIX.search(read[0]):
            self._note(read[0], moment.body.result[:HEAD], moment.step)

    def _note(self, path: str, head: str, step: int) -> None:
        imports = frozenset(imported(head, path))
        known = self._parents.pop(path, None)
        if known is not None:
            # Another page of the same file.
            imports |= known.imports
        make_room(self._parents, MOST_PARENTS)
        self._parents[path] = _Parent(step, imports)

    def signals(self) -> Iterable[Signal]:
        ordered = sorted(self._chases.items(), key=lambda item: item[1].step)
        return [self._signal(names, chase) for names, chase in ordered[:MOST_SIGNALS]]

    def size(self) -> int:
        return 4_000 * len(self._parents) + 400 * len(self._chases)

    def shrink(self) -> None:
        halve(self._chases)
        halve(self._parents)

    def _follow(self, path: str, step: int) -> None:
        tails = tuple(_tails(path))
        for parent, known in self._parents.items():
            if parent == path or step - known.step > WITHIN_STEPS:
                continue
            if any(tail in known.imports for tail in tails):
                chase = self._chases.get((parent, path))
                if chase is not None:
                    chase.count += 1
                    continue
                make_room(self._chases, MOST_CHASES)
                self._chases[parent, path] = _Chase(
                    step, step - known.step, self._searched_step >= known.step
                )

    def _signal(self, names: tuple[str, str], chase: _Chase) -> Signal:
        parent, child = names
        return Signal(
            kind=SignalKind.IMPORT_CHASE,
            step=chase.step,
            confidence=round(min(0.7, 0.5 + 0.05 * chase.count), 2),
            key=finding_key("import_chase", f"{parent} {child}"),
            files=names,
            details={
                "parent_file": parent,
                "discovered_file": child,
                "steps_to_discover": chase.steps,
                "tool_path": "search_then_read" if chase.is_searched else "direct_import",
                "count": chase.count,
                "task_type": self._task.kind,
            },
            content=f"To understand `{parent}` agents go on to `{child}`, which it imports.",
            type=MemoryType.CAUSAL_DEPENDENCY,
        )


def imported(head: str, path: str) -> Iterator[str]:
    """What the head of the file imports, as ends of paths without suffix."""
    here = posixpath.dirname(path)
    for match in islice(_statements(head), MOST_IMPORTS):
        kind, name = match.lastgroup or "", match[match.lastgroup or 0]
        if kind in ("python_from", "names"):
            base = _python(match["python_from"], here)
            if base:
                yield base
            for each in (match["names"] or "").split(",")[:20]:
                word = each.split(" as ")[0].strip()
                if base and word.isidentifier():
                    yield f"{base}/{word}"
        elif kind == "python":
            yield name.replace(".", "/")
        elif kind == "rust":
            yield name.replace("::", "/")
        elif kind == "go":
            yield f"go:{'/'.join(name.split('/')[-2:])}"
        elif name.startswith("."):
            yield _SUFFIX.sub("", posixpath.normpath(posixpath.join(here, name)))
        else:
            yield _SUFFIX.sub("", name.lstrip("@~/"))


def _statements(head: str) -> Iterator[re.Match[str]]:
    if not any(mark in head for mark in _MARKS):
        return
    for line in head.splitlines():
        # Told in the order of frequency, since most lines are none.
        if (
            "import" in line
            or (line.endswith('"') and "/" in line)
            or "require(" in line
            or "include" in line
            or "use " in line
            or "from " in line
        ):
            match = _IMPORT.match(line[:LONGEST_LINE])
            if match:
                yield match


def _python(name: str, here: str) -> str:
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name.replace(".", "/")
    for _ in range(level - 1):
        here = posixpath.dirname(here)
    return posixpath.normpath(posixpath.join(here, name.lstrip(".").replace(".", "/") or "."))


def _tails(path: str) -> Iterator[str]:
    """The names by which a file may be imported: ends of its path of two parts or more."""
    stem = _SUFFIX.sub("", path)
    for index in _INDEX:
        stem = stem.removesuffix(index)
    yield stem
    parts = stem.split("/")
    for start in range(1, max(1, len(parts) - 1)):
        yield "/".join(parts[start:])
    if path.endswith(".go"):
        # A package of Go is imported by its directory, after a host's and a module's name.
        yield f"go:{'/'.join(parts[-3:-1])}"
