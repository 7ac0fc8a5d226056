"""The table of all checks, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from seamark.errors import SettingsError
from seamark_sidecar.doctor import (
    databases,
    directory,
    embedding,
    launch,
    leftovers,
    machine,
    plugins,
    running,
)
from seamark_sidecar.doctor.examination import LONGEST, examine
from seamark_sidecar.doctor.finding import Finding, Verdict
from seamark_sidecar.doctor.place import Answer, Place
from seamark_sidecar.settings import Settings

# These need nothing but the environment.
MACHINE: Mapping[str, Callable[[Mapping[str, str]], Verdict]] = MappingProxyType({
    "Python":   machine.python,
    "packages": machine.packages,
    "settings": machine.settings,
})  # fmt: skip

PLACE: Mapping[str, Callable[[Place], Verdict]] = MappingProxyType({
    "data directory":  directory.ownership,
    "file system":     directory.file_system,
    "disk space":      directory.space,
    "databases":       databases.soundness,
    "put aside":       leftovers.put_aside,
    "lock":            running.lock,
    "socket":          running.listening,
    "sidecar":         running.sidecar,
    "learning":        running.learning,
    "processes":       running.processes,
    "agents":          running.agents,
    "index":           embedding.index,
    "embedding model": embedding.model,
    "unfinished":      embedding.unfinished,
    "log":             leftovers.log,
    "auto-start":      launch.autostart,
    "methodologies":   plugins.methodologies,
    "tools":           plugins.tools,
})  # fmt: skip


def check_up(
    environ: Mapping[str, str], ask: Callable[[Settings], Answer], within: float = LONGEST
) -> list[Finding]:
    """All findings; with settings that cannot be used, those that need none."""
    found = examine(MACHINE, environ, within)
    try:
        settings = Settings.from_env(environ)
    except SettingsError:
        return found
    place = Place(settings, environ, lambda: ask(settings))
    return [*found, *examine(PLACE, place, within)]
