"""All methodologies there are: our own, and what the user's environment has installed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from types import MappingProxyType

from seamark_sidecar.methodology.bmad import Bmad
from seamark_sidecar.methodology.contained import Contained, Nonsense
from seamark_sidecar.methodology.native import Native
from seamark_sidecar.methodology.plugin import Methodology, TypeDefinition
from seamark_sidecar.methodology.tdd import Tdd
from seamark_sidecar.model.memory import MemoryType

GROUP = "seamark.methodologies"
OWN: Mapping[str, Callable[[], Methodology]] = MappingProxyType({
    Native.id: Native,
    Tdd.id: Tdd,
    Bmad.id: Bmad,
})  # fmt: skip
MOST_PLUGINS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something about a plugin that people should know."""

    # Of the entry point.
    plugin: str
    # That brought it, with its version; empty when unknown.
    distribution: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A methodology, and where it comes from."""

    methodology: Methodology
    # Empty for our own.
    distribution: str = ""


class Registry:
    """Finds a methodology by its id; an unknown one is the native one."""

    def __init__(self, listed: Iterable[Listed], faults: Iterable[Fault] = ()) -> None:
        self._listed = {each.methodology.id: each for each in listed}
        self._faults = tuple(faults)
        self._native = Native()

    def __iter__(self) -> Iterator[Listed]:
        return iter(self._listed.values())

    def __contains__(self, id_: object) -> bool:
        return id_ in self._listed

    def get(self, id_: str) -> Methodology:
        """The methodology of this id; the native one for any other."""
        listed = self._listed.get(id_)
        return listed.methodology if listed is not None else self._native

    def types(self) -> dict[str, TypeDefinition]:
        """The memory types of all of them, by name."""
        return {each.name: each for listed in self for each in listed.methodology.types}

    @property
    def faults(self) -> Sequence[Fault]:
        """What went wrong with plugins so far, while they were loaded or asked."""
        asked = (
            Fault(
                plugin=listed.methodology.id,
                distribution=listed.distribution,
                what=f"{name} failed: {what}",
            )
            for listed in self
            if isinstance(listed.methodology, Contained)
            for name, what in listed.methodology.faults.items()
        )
        return (*self._faults, *asked)


def load(
    path: Sequence[str] | None = None, on_fault: Callable[[Fault], None] = lambda fault: None
) -> Registry:
    """Our own methodologies, and those of the packages that are installed for this interpreter.

    Nothing is taken from the current directory or from `PYTHONPATH`, where an agent's project
    could have put it.

    Args:
        path: Where to look instead, for tests.
        on_fault: Told of plugins that cannot be loaded now, and of those that fail later.
    """
    listed = [Listed(methodology=make()) for make in OWN.values()]
    faults: list[Fault] = []
    known_types = {str(each) for each in MemoryType}
    known_types.update(each.name for own in listed for each in own.methodology.types)
    taken = set(OWN)
    for distribution, entry in _entries(installed_path() if path is None else path, faults):
        brought_by = _named(distribution)
        try:
            methodology = _loaded(entry, _telling(on_fault, entry.name, brought_by))
            _check_new(methodology, taken, known_types)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin fails as it likes
            said = " ".join(str(error).split())[:200] or type(error).__name__
            what = said if isinstance(error, Nonsense) else f"{type(error).__name__}: {said}"
            faults.append(Fault(plugin=entry.name, distribution=brought_by, what=what))
            on_fault(faults[-1])
            continue
        taken.add(methodology.id)
        known_types.update(each.name for each in methodology.types)
        listed.append(Listed(methodology=methodology, distribution=brought_by))
    return Registry(listed, faults)


def installed_path() -> list[str]:
    """Where installed packages are looked for: neither here nor in `PYTHONPATH`."""
    foreign = _foreign()
    return [entry for entry in sys.path if Path(entry).is_absolute() and entry not in foreign]


def _foreign() -> set[str]:
    added = (
        [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    )
    return {"", str(Path.cwd()), *(str(Path(each).absolute()) for each in added if each)}


def _entries(path: Sequence[str], faults: list[Fault]) -> Iterator[tuple[Distribution, EntryPoint]]:
    seen: set[str] = set()
    count = 0
    for distribution in distributions(path=list(path)):
        try:
            name = distribution.metadata["Name"] or ""
            entries = [each for each in distribution.entry_points if each.group == GROUP]
        except Exception:  # noqa: BLE001 - a broken installation is not ours to judge
            continue
        # The first one on the path is the one that is imported.
        if not entries or name.lower() in seen:
            continue
        seen.add(name.lower())
        for entry in sorted(entries, key=lambda each: each.name):
            count += 1
            if count > MOST_PLUGINS:
                faults.append(
                    Fault(
                        plugin=entry.name,
                        distribution=_named(distribution),
                        what=f"more than {MOST_PLUGINS} plugins are installed",
                    )
                )
                return
            yield distribution, entry


def _telling(
    on_fault: Callable[[Fault], None], plugin: str, brought_by: str
) -> Callable[[str, str], None]:
    def tell(what: str, why: str) -> None:
        on_fault(Fault(plugin=plugin, distribution=brought_by, what=f"{what} failed: {why}"))

    return tell


def _loaded(entry: EntryPoint, on_fault: Callable[[str, str], None]) -> Contained:
    top = entry.module.partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is None:
        raise Nonsense(f"its module {top} cannot be found")
    packages = list(spec.submodule_search_locations or ())
    for place in packages or [spec.origin or ""]:
        if not _foreign().isdisjoint({str(Path(place).parent), str(Path(place).resolve().parent)}):
            raise Nonsense(
                f"its module {top} would come from the current directory or PYTHONPATH, "
                "which a project can write to; install it"
            )
    # What it prints is not what a command says.
    with contextlib.redirect_stdout(sys.stderr):
        made = entry.load()
        return Contained(made() if isinstance(made, type) else made, on_fault)


def _check_new(methodology: Methodology, taken: set[str], known_types: set[str]) -> None:
    if methodology.id in taken:
        raise Nonsense(f"its id {methodology.id!r} is taken")
    for each in methodology.types:
        if each.name in known_types:
            raise Nonsense(f"its memory type {each.name!r} exists already")


def _named(distribution: Distribution) -> str:
    try:
        return f"{distribution.metadata['Name']} {distribution.version}"
    except Exception:  # noqa: BLE001 - it only names it
        return ""
