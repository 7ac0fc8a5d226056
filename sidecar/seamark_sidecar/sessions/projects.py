"""Which project a session belongs to."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.model.project import Project

LONGEST_NAME = 200
MOST_REMEMBERED = 1024


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
        self._by_path: dict[str, tuple[Project, str]] = {}

    async def at(self, path: str, name: str = "") -> tuple[Project, str]:
        """The project, and the root of its checkout; a name wins over a path."""
        if name.strip():
            short = " ".join(name.split())[:LONGEST_NAME]
            return await self._store.project(f"name:{short}", short, self._now()), path
        if not path or not os.path.isabs(path) or "\0" in path:  # noqa: PTH117
            raise BadRequest(
                f"the project path is {path!r}; give the absolute path of a checkout, or a name"
            )
        known = self._by_path.get(path)
        if known is None:
            identity = await self._identify(Path(path))
            project = await self._store.project(identity.key, identity.name, self._now())
            known = project, str(identity.root or path)
            if len(self._by_path) >= MOST_REMEMBERED:
                self._by_path.clear()
            self._by_path[path] = known
        return known
