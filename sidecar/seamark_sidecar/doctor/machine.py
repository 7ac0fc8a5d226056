"""Checks of the Python that runs the command, its packages and its environment."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec

from seamark.errors import SettingsError
from seamark.launch import is_older
from seamark.settings import Settings as AgentSettings
from seamark.spawn import SIDECAR_PACKAGES
from seamark_sidecar.doctor.finding import Verdict, fail, ok, warn
from seamark_sidecar.settings import Settings as SidecarSettings

DISTRIBUTION = "seamark"
EXTRA = "sidecar"
OLDEST_PYTHON = (3, 11)

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*);?\s*(.*)")
_CLAUSE = re.compile(r"(==|>=|<)\s*([0-9][0-9.]*)")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def python(_: Mapping[str, str]) -> Verdict:
    """The interpreter is one that seamark is made for."""
    what = f"{platform.python_version()} with SQLite {sqlite3.sqlite_version}, {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return fail(what, f"use Python {oldest} or newer")
    return ok(what)


def packages(_: Mapping[str, str]) -> Verdict:
    """What the extra `[sidecar]` brings is there, and new enough."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return fail(f"{DISTRIBUTION} itself is not installed in {sys.prefix}", _install())
    missing = [name for name in SIDECAR_PACKAGES if find_spec(name) is None]
    return judge(required, _installed, missing)


def settings(environ: Mapping[str, str]) -> Verdict:
    """Every variable has a value that can be used, by agents and by the sidecar."""
    try:
        SidecarSettings.from_env(environ)
        disabled = AgentSettings.from_env(environ).disabled
    except SettingsError as error:
        return fail(str(error), "correct the variable, then run: seamark doctor")
    if disabled:
        return warn("memory is switched off by SEAMARK_DISABLED", "unset SEAMARK_DISABLED")
    chosen = sorted(name for name in environ if name.startswith("SEAMARK_") and environ[name])
    return ok(", ".join(chosen) or "all as they come")


def judge(
    required: Iterable[str], installed: Callable[[str], str | None], missing: Iterable[str] = ()
) -> Verdict:
    """Compares what is installed with what the sidecar requires.

    Args:
        required: What the metadata of seamark say.
        installed: The version of a distribution, or None.
        missing: Import names that were looked for in vain.
    """
    wanting = [f"{name} cannot be imported" for name in missing]
    count = 0
    for name, clauses in _of_the_sidecar(required):
        count += 1
        found = installed(name)
        if found is None:
            wanting.append(f"{name} is missing")
        elif broken := [
            f"{sign}{wanted}" for sign, wanted in clauses if _breaks(found, sign, wanted)
        ]:
            wanting.append(f"{name} {found} is not {','.join(broken)}")
    if wanting:
        return fail("; ".join(wanting), _install())
    return ok(f"all {count} that the sidecar needs are there")


def _of_the_sidecar(required: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for text in required:
        if (match := _REQUIREMENT.match(text)) is None:
            continue
        name, clauses, marker = match.groups()
        extra = _EXTRA.search(marker)
        if extra is None or extra.group(1) == EXTRA:
            yield name, _CLAUSE.findall(clauses)


def _breaks(found: str, sign: str, wanted: str) -> bool:
    older, newer = is_older(found, wanted), is_older(wanted, found)
    return {"==": older or newer, ">=": older, "<": not older}[sign]


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _install() -> str:
    return f"run: {sys.executable} -m pip install --upgrade '{DISTRIBUTION}[{EXTRA}]'"
