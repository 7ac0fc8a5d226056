"""Which project a session belongs to."""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.model.project import Project
from seamark_sidecar.model.secrets import redact

LONGEST_NAME = 200
LONGEST_PATH = 4096
MOST_REMEMBERED = 1024
# A checkout gets its first commit, or its remote, while the sidecar runs.
REMEMBERED_FOR = timedelta(seconds=30)


class Identity(Protocol):
    """What a checkout says of itself."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def root(self) -> Path | None: ...


class ProjectStore(Protocol):
    """Where projects are kept."""

    async def project(self, key: str, name: str, now: datetime) -> Project: ...


class Projects:
    """Finds the project of a path or a name."""

    def __init__(
        self,
        store: ProjectStore,
        identify: Callable[[Path], Awaitable[Identity]],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._identify = identify
        self._now = now
        self._by_path: dict[str, tuple[datetime, Project, str]] = {}

    async def at(self, path: str, name: str = "") -> tuple[Project, str]:
        """The project, and the root of its checkout; a name wins over a path."""
        if name.strip():
            short = redact(" ".join(name.split())[:LONGEST_NAME]).text
            project = await self._store.project(f"name:{short}", short, self._now())
            return project, path if _is_absolute(path) else ""
        if not _is_absolute(path):
            raise BadRequest(
                f"the project path is {path[:100]!r}; "
                "give the absolute path of a checkout, or a name"
            )
        known = self._by_path.get(path)
        if known is None or self._now() - known[0] > REMEMBERED_FOR:
            known = self._now(), *await self._identified(path)
            if len(self._by_path) >= MOST_REMEMBERED:
                self._by_path.clear()
            self._by_path[path] = known
        return known[1:]

    async def _identified(self, path: str) -> tuple[Project, str]:
        identity = await self._identify(Path(path))
        project = await self._store.project(identity.key, identity.name, self._now())
        if identity.root is None:
            return project, path
        return project, await asyncio.to_thread(_as_seen, Path(path), identity.root)


def _is_absolute(path: str) -> bool:
    return posixpath.isabs(path) and "\0" not in path and len(path) <= LONGEST_PATH


def _as_seen(path: Path, root: Path) -> str:
    """The root as the agent names it, who may have come by a link."""
    for place in (path, *path.parents):
        if os.path.realpath(place) == str(root):
            return str(place)
    return str(root)
