"""A data directory of its own, agents that start its sidecar, and an end to both."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import seamark
from seamark import launch
from seamark.holder import Holder, read_holder
from seamark.private_directory import PrivateDirectory

# An agent that hangs says where and ends.
PREAMBLE = """
import faulthandler, logging, os, sys, threading, time
faulthandler.dump_traceback_later(40, exit=True)
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
import seamark, seamark.launch
from seamark import *
seamark.launch.FIRST_PAUSE = {pause}

def until(holds, within=20.0):
    end = time.monotonic() + within
    while not (value := holds()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
    return value
"""
# Seconds between two attempts to start a sidecar: how they grow is tested apart.
PAUSE = 0.1
# What may take longer on a busy machine; what deadlines do is tested where they matter.
PATIENT = {
    "SEAMARK_SESSION_START_MS": "5000",
    "SEAMARK_STEP_MS": "5000",
    "SEAMARK_TOOL_MS": "5000",
    "SEAMARK_CLOSE_MS": "10000",
}


def until(holds: Callable[[], Any], within: float = 20.0) -> Any:
    """Waits until something is so."""
    end = time.monotonic() + within
    while not (value := holds()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
    return value


class Place:
    """One data directory, and everything that runs for it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "d"
        self.address = f"unix:{self.data}/seamark.sock"
        self.project = root / "project"
        self.project.mkdir()
        self.log = self.data / "sidecar.log"
        self.settings = {
            **PATIENT,
            "SEAMARK_AUTOSTART": "1",
            "SEAMARK_DATA_DIR": str(self.data),
            "SEAMARK_IDLE_EXIT_S": "60",
        }
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SEAMARK_") and name != "XDG_RUNTIME_DIR"
        } | self.settings
        self.python = sys.executable
        self.agents: list[subprocess.Popen[str]] = []

    def begin(self, program: str, *arguments: str, **changes: Any) -> subprocess.Popen[str]:
        """An agent that runs meanwhile."""
        options = {"cwd": self.project, "stdin": subprocess.PIPE, **changes.pop("options", {})}
        process = subprocess.Popen(
            [self.python, "-c", PREAMBLE.format(pause=PAUSE) + program, *arguments],
            env={**self.environ, **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.agents.append(process)
        return process

    def agent(self, program: str, *arguments: str, **changes: Any) -> str:
        """What an agent printed, once it has ended well."""
        out, err = self.ended(program, *arguments, **changes)
        assert "WARNING" not in err, err
        return out

    def ended(self, program: str, *arguments: str, **changes: Any) -> tuple[str, str]:
        """What an agent printed and what it logged."""
        process = self.begin(program, *arguments, **changes)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out, err

    def holder(self) -> Holder | None:
        """The sidecar that runs here."""
        if not self.data.exists():
            return None
        with PrivateDirectory(self.data) as directory:
            return read_holder(directory)

    def running(self) -> psutil.Process:
        """The process of the sidecar that runs here."""
        holder = until(lambda: (found := self.holder()) and found.pid and found)
        return psutil.Process(holder.pid)

    def family(self) -> list[psutil.Process]:
        """Every process, save the agents, that was started for this data directory."""
        agents = {agent.pid for agent in self.agents} | {os.getpid()}
        mine = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                place = Path(process.environ().get("SEAMARK_DATA_DIR", "/")).resolve()
                if process.pid not in agents and self.root in place.parents:
                    mine.append(process)
        return mine

    def sidecars(self) -> list[psutil.Process]:
        """The sidecars among them; there are workers too."""
        found = []
        for process in self.family():
            with suppress(psutil.Error):
                found += [process] if "up" in process.cmdline() else []
        return found

    def starts(self) -> int:
        """How many sidecars became ready so far."""
        return len(self.logged("ready"))

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Lines of the log that tell of an event."""
        if not self.log.exists():
            return []
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [fact for line in lines if (fact := json.loads(line)).get("event") == event]

    def stored(self) -> list[tuple[str, int]]:
        """The producer and sequence of every event in the journal, in order."""
        with closing(sqlite3.connect(f"file:{self.data}/journal.db?mode=ro", uri=True)) as journal:
            rows = journal.execute("SELECT producer_id, sequence FROM events ORDER BY 1, 2")
            return rows.fetchall()

    def python_saying(self, script: str) -> str:
        """A program in the place of a Python with a sidecar."""
        program = self.root / "python"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        return str(program)

    def clear(self) -> None:
        for agent in self.agents:
            agent.kill()
            agent.communicate()
        until(self._is_cleared)

    def _is_cleared(self) -> bool:
        # Again and again: one of them may be starting the next.
        family = self.family()
        for process in family:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        return not family


@pytest.fixture
def place() -> Iterator[Place]:
    # Short, because a socket's path has about a hundred bytes.
    root = Path(tempfile.mkdtemp(prefix="sml-")).resolve()
    made = Place(root)
    try:
        yield made
        made.clear()
    finally:
        shutil.rmtree(root)


@pytest.fixture
def here(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The same, with this process as the agent."""
    for name in [name for name in os.environ if name.startswith("SEAMARK_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(launch, "FIRST_PAUSE", PAUSE)
    for name, value in place.settings.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.fixture
def connect(here: Place) -> Iterator[Callable[..., seamark.Client]]:
    """`seamark.connect`, and the end of what it made."""
    made = []

    def connect(**changes: Any) -> seamark.Client:
        made.append(seamark.connect(**changes))
        return made[-1]

    yield connect
    for client in made:
        client.close(0)
