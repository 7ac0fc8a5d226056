"""Makes a Python environment for this project, with the standard library and uv or else pip."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv-tools"
STAMP = ".seamark-complete"
# What sysexits.h calls a temporary failure: the package index cannot be reached.
EXIT_UNREACHABLE = 75
HEARTBEAT_SECONDS = 15
LAST_WORDS = 15  # lines
UNREACHABLE_PHRASES = (
    # uv
    "failed to fetch",
    "error sending request",
    "dns error",
    "network is disabled",
    "network connectivity is disabled",
    # pip
    "(from versions: none)",
    "newconnectionerror",
    "connecttimeouterror",
    "name resolution",
    "proxyerror",
    "connection refused",
)


class InstallFailed(Exception):
    """A step failed; the message is what the installer printed."""

    def last_words(self) -> str:
        return "\n".join(str(self).splitlines()[-LAST_WORDS:])

    def unreachable(self) -> bool:
        text = str(self).lower()
        return any(phrase in text for phrase in UNREACHABLE_PHRASES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where an environment goes and what belongs into it."""

    directory: Path
    editable: str | None
    requirements: tuple[str, ...]
    wheels_only: bool

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    @property
    def name(self) -> str:
        return os.path.relpath(self.directory, ROOT)

    def stamp(self) -> dict[str, str]:
        """What the finished environment must have been made from."""
        contents = hashlib.sha256()
        for part in (self.editable or "", str(self.wheels_only), *self.requirements):
            contents.update(part.encode() + b"\0")
        if self.editable:
            contents.update(_what_decides_the_installation())
        return {
            "contents": contents.hexdigest(),
            # Scripts and editable installs hold absolute paths, so a copied tree needs its own.
            "directory": str(self.directory),
            "python": platform.python_version(),
        }

    def made_from(self) -> dict[str, str]:
        """The stamp it carries; empty when it is missing, broken or half made."""
        if not os.access(self.python, os.X_OK):
            return {}
        try:
            found = json.loads((self.directory / STAMP).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def what_to_install(self) -> list[str]:
        wheels = ["--only-binary", ":all:"] if self.wheels_only else []
        editable = ["--editable", self.editable] if self.editable else []
        return [*wheels, *editable, *self.requirements]


def main(arguments: Sequence[str] | None = None) -> int:
    _leave_any_environment()
    # So that an installer we started ends with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("requirements", nargs="*", metavar="REQUIREMENT")
    parser.add_argument("--editable", metavar="PROJECT", help="install this project in place")
    parser.add_argument(
        "--compile", action="append", default=[], metavar="FOLDER", help="our code, to bytecode"
    )
    parser.add_argument("--wheels-only", action="store_true", help="never build from source")
    chosen = parser.parse_intermixed_args(arguments)
    environment = Environment(
        directory=chosen.directory.absolute(),
        editable=chosen.editable,
        requirements=tuple(chosen.requirements),
        wheels_only=chosen.wheels_only,
    )
    if environment.made_from() == environment.stamp():
        return 0
    try:
        with _alone():
            # Somebody else may have finished it while we waited.
            if environment.made_from() != environment.stamp():
                _make(environment, chosen.compile)
    except InstallFailed as failure:
        _say(f"could not make {environment.name}:\n{failure.last_words()}")
        return EXIT_UNREACHABLE if failure.unreachable() else 1
    except KeyboardInterrupt:
        _say(f"stopped; {environment.name} is not complete, the next run makes it anew")
        return 130
    return 0


def _make(environment: Environment, folders: Sequence[str]) -> None:
    started = time.monotonic()
    stamp, found = environment.stamp(), environment.made_from()
    _say(f"Python {platform.python_version()} ({sys.executable})")
    # Without its stamp an environment may be half made, so it is not built upon.
    update = found.get("python") == stamp["python"] and found.get("directory") == stamp["directory"]
    if update:
        (environment.directory / STAMP).unlink()
    else:
        _remove(environment.directory)
    try:
        _with_uv(environment, update=update)
    except InstallFailed as failure:
        if update and failure.unreachable() and not (environment.directory / "bin/pip").exists():
            # uv made it, and fetches everything before it changes anything.
            _write_stamp(environment, found)
            _say(f"{environment.name} is left as it was; remove it to start anew")
            raise
        _say(f"uv did not manage, trying pip instead; it said:\n{failure.last_words()}")
        _remove(environment.directory)
        # pip may know another index, but need not try long to reach the one that uv could not.
        hasty = ("--retries", "0") if failure.unreachable() else ()
        try:
            _with_pip(environment, *hasty)
        except InstallFailed as second:
            raise InstallFailed(f"{failure}\nand with pip:\n{second}") from second
    if folders:
        _say("compiling our own packages")
        present = [folder for folder in folders if (ROOT / folder).is_dir()]
        # A mistake in our own code is for the checks to find, not for the set-up.
        compiling = [str(environment.python), "-m", "compileall", "-q", *present]
        subprocess.run(compiling, cwd=ROOT, stdout=sys.stderr, check=False)
    _write_stamp(environment, stamp)
    _say(f"{environment.name} is ready ({time.monotonic() - started:.0f} s)")


def _write_stamp(environment: Environment, stamp: Mapping[str, str]) -> None:
    unfinished = environment.directory / f"{STAMP}.new"
    unfinished.write_text(json.dumps(stamp), "utf-8")
    unfinished.replace(environment.directory / STAMP)


def _with_uv(environment: Environment, *, update: bool) -> None:
    uv = _find_uv() or _install_uv()
    if update:
        _say(f"updating {environment.name} with uv")
    else:
        _say(f"making {environment.name} with uv")
        _run([uv, "venv", "--quiet", "--python", sys.executable, environment.directory], "uv venv")
    _say(f"installing {_summary(environment)}")
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python"]
    _run([*install, environment.python, *environment.what_to_install()], "installing")


def _with_pip(environment: Environment, *options: str) -> None:
    _say(f"making {environment.name} with venv and pip")
    pip = _new_environment_with_pip(environment.directory)
    _say(f"installing {_summary(environment)}")
    _run([*pip, "install", *PIP_OPTIONS, *options, *environment.what_to_install()], "installing")
    _say("compiling bytecode")
    # Some packages ship templates that are not valid Python: their complaints mean nothing.
    subprocess.run(
        [environment.python, "-m", "compileall", "-qq", "-j", "0", environment.directory / "lib"],
        check=False,
    )


PIP_OPTIONS = ("--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")


def _find_uv() -> str | None:
    for candidate in ("uv", str(TOOLS / "bin" / "uv")):
        with contextlib.suppress(OSError):
            if subprocess.run([candidate, "--version"], capture_output=True).returncode == 0:
                return candidate
    return None


def _install_uv() -> str:
    _say(f"no uv here: installing it into {TOOLS.name}")
    _remove(TOOLS)
    _run([*_new_environment_with_pip(TOOLS), "install", *PIP_OPTIONS, "uv>=0.5"], "installing uv")
    return str(TOOLS / "bin" / "uv")


def _new_environment_with_pip(directory: Path) -> list[str | Path]:
    """Makes an empty environment; returns the command that is its pip."""
    try:
        _run([sys.executable, "-m", "venv", directory], "python -m venv")
    except InstallFailed as without_ensurepip:
        # Debian splits ensurepip from Python; an installed pip can stand in for it.
        _remove(directory)
        try:
            _run([sys.executable, "-m", "pip", "--version"], "python -m pip")
        except InstallFailed:
            raise InstallFailed(
                f"{without_ensurepip}\n{sys.executable} has neither venv with ensurepip nor pip."
                " Install its venv package (Debian, Ubuntu: apt install python3-venv), or uv."
            ) from without_ensurepip
        _run([sys.executable, "-m", "venv", "--without-pip", directory], "python -m venv")
        return [sys.executable, "-m", "pip", "--python", directory / "bin" / "python"]
    return [directory / "bin" / "python", "-m", "pip"]


def _run(command: Sequence[str | Path], what: str) -> None:
    """Runs a command quietly, with a sign of life now and then; raises what it printed."""
    started = time.monotonic()
    # PIP_USER in the surroundings would send packages to the home directory.
    surroundings = {**os.environ, "PIP_USER": "0"}
    if (index := os.environ.get("PIP_INDEX_URL")) and "UV_INDEX_URL" not in os.environ:
        surroundings.setdefault("UV_DEFAULT_INDEX", index)
    try:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise InstallFailed(f"{command[0]}: {error.strerror}") from error
    try:
        while True:
            try:
                printed, _ = process.communicate(timeout=HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                _say(f"  still {what} ({time.monotonic() - started:.0f} s)")
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        raise InstallFailed(printed.strip() or f"{what} ended with status {process.returncode}")


def _remove(directory: Path) -> None:
    if not directory.exists() and not directory.is_symlink():
        return
    made_by_us = (directory / "pyvenv.cfg").exists() or (directory / "bin").is_dir()
    if directory.is_symlink() or not (made_by_us or not any(directory.iterdir())):
        raise InstallFailed(f"{directory} is in the way and is not an environment; move it aside")
    _say(f"removing the old or unfinished {os.path.relpath(directory, ROOT)}")
    shutil.rmtree(directory)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One at a time in this checkout; the lock goes with the process."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another run is installing here, waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _what_decides_the_installation() -> bytes:
    """The tables of pyproject.toml that matter here; settings of linters do not."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    deciding = (settings["build-system"], settings["project"], settings["tool"]["hatch"])
    return json.dumps(deciding, sort_keys=True, default=str).encode()


def _leave_any_environment() -> None:
    """Goes on with the Python beneath an activated environment, which may be the one to remake."""
    beneath = getattr(sys, "_base_executable", sys.executable)
    if sys.prefix != sys.base_prefix and beneath != sys.executable:
        os.execv(beneath, [beneath, *sys.argv])


def _summary(environment: Environment) -> str:
    if environment.editable:
        extras = environment.editable.removeprefix(".")
        return f"seamark{extras} and what it needs: a minute or a few, the first time"
    return ", ".join(environment.requirements)


def _say(line: str) -> None:
    print(f"seamark: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
