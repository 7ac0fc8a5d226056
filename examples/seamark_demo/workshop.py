"""A temporary place to work in: a sidecar of its own, a repository, and clones of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from seamark import Client, Settings
from seamark.errors import SettingsError
from seamark.settings import data_dir, socket_path
from seamark_demo.desk import Desk

PROJECT = Path(__file__).parent / "project"
PREFIX = "seamark-demo-"
TEST_COMMAND = (sys.executable, "-m", "pytest", "-q")
START_SECONDS = 10.0
STOP_SECONDS = 8.0
TEST_SECONDS = 60.0
# The demo is about what memory changes, not about deadlines on a machine that is busy.
PATIENCE = 3.0


class WorkshopError(Exception):
    """Something the demo stands on is missing or broken; the message is for people."""


class Workshop:
    """Everything in one directory, which `opened` removes again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data_dir = root / "data"
        self.address = f"unix:{self.data_dir / 's.sock'}"
        # What commands of the agent see: the demo's own Python, and nothing of the user's settings.
        self.environ = {
            "HOME": str(root / "home"),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(root / "bin"), os.environ.get("PATH", os.defpath)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TMPDIR": str(root / "tmp"),
        }
        self._clones = 0

    @classmethod
    @contextmanager
    def opened(cls, *, keep: bool = False) -> Iterator[Workshop]:
        """A workshop with a repository and a running sidecar."""
        root = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        try:
            workshop = cls(root)
            workshop._measure()
            workshop._furnish()
            with workshop._sidecar():
                yield workshop
        finally:
            if not keep:
                shutil.rmtree(root)

    def clone(self) -> Path:
        """A fresh clone; its name says nothing about what it is for."""
        self._clones += 1
        checkout = self.root / f"checkout-{self._clones}"
        self._git(self.root, "clone", "-q", "--no-hardlinks", "origin", checkout.name)
        return checkout

    @contextmanager
    def client(self, *, memory: bool) -> Iterator[Client]:
        """The SDK's client of the workshop's sidecar; without memory it never contacts it."""
        client = Client(
            Settings(
                address=self.address,
                disabled=not memory,
                session_start_deadline=PATIENCE,
                tool_result_deadline=PATIENCE,
                step_deadline=PATIENCE,
                close_deadline=PATIENCE,
            )
        )
        try:
            yield client
        finally:
            client.close()

    @contextmanager
    def desk(self) -> Iterator[Desk]:
        """The operator's side of the workshop's sidecar."""
        with grpc.insecure_channel(self.address) as channel:
            yield Desk(channel)

    def tests_pass(self, checkout: Path) -> bool:
        """What the project's own tests say."""
        try:
            outcome = subprocess.run(
                TEST_COMMAND,
                cwd=checkout,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return outcome.returncode == 0

    def _measure(self) -> None:
        try:
            socket_path(self.address)
        except SettingsError:
            raise WorkshopError(
                f"{tempfile.gettempdir()} is too long a path for a socket; "
                "set TMPDIR to a shorter one"
            ) from None

    def _furnish(self) -> None:
        for name in ("bin", "data", "home", "tmp"):
            (self.root / name).mkdir(mode=0o700)
        # The user's embedding model, if there is one; fetching it for each demo would take longer.
        with contextlib.suppress(OSError):
            shutil.copytree(data_dir(os.environ) / "models", self.data_dir / "models")
        # The project says `python`, which is not a command everywhere.
        python = self.root / "bin" / "python"
        interpreter = shlex.quote(sys.executable)
        python.write_text(f'#!/bin/sh\nexec {interpreter} "$@"\n', encoding="utf-8")
        python.chmod(0o700)
        origin = self.root / "origin"
        shutil.copytree(
            PROJECT, origin, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache")
        )
        self._git(origin, "init", "-q")
        self._git(origin, "add", "--all")
        self._git(origin, "commit", "-q", "-m", "Harbour fees")

    def _git(self, directory: Path, *arguments: str) -> None:
        # HOME is the workshop's, so the user's hooks, templates and signing stay out of it.
        who = {"NAME": "Harbour office", "EMAIL": "office@harbour.invalid"}
        environ = self.environ | {
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_AUTHOR_{key}": value for key, value in who.items()},
            **{f"GIT_COMMITTER_{key}": value for key, value in who.items()},
        }
        try:
            subprocess.run(
                ["git", *arguments],
                cwd=directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
                text=True,
            )
        except FileNotFoundError:
            raise WorkshopError("the demo needs git; install it and try again") from None
        except subprocess.CalledProcessError as error:
            raise WorkshopError(f"git {arguments[0]} failed: {error.stderr.strip()}") from error

    @contextmanager
    def _sidecar(self) -> Iterator[None]:
        environ = {name: value for name, value in os.environ.items() if not _is_ours(name)}
        environ |= {"SEAMARK_DATA_DIR": str(self.data_dir), "SEAMARK_ADDRESS": self.address}
        log = self.root / "sidecar.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "seamark_sidecar", "up"],
                cwd=self.root,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C ends the demo, which then ends the sidecar in good order.
                start_new_session=True,
            )
        try:
            self._await_health(process, log)
            yield
        finally:
            _stop(process)

    def _await_health(self, process: subprocess.Popen[bytes], log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            if self._is_serving():
                return
            time.sleep(0.05)
        ended = process.returncode is not None
        fate = f"ended with code {process.returncode}" if ended else "did not answer in time"
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
        raise WorkshopError(f"the sidecar {fate}\n{last}".rstrip())

    def _is_serving(self) -> bool:
        if not socket_path(self.address).exists():
            return False
        with grpc.insecure_channel(self.address) as channel:
            check = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=HealthCheckRequest.SerializeToString,
                response_deserializer=HealthCheckResponse.FromString,
            )
            try:
                answer = check(HealthCheckRequest(), timeout=1.0)
            except grpc.RpcError:
                return False
        return answer.status == HealthCheckResponse.SERVING


def _is_ours(name: str) -> bool:
    return name.startswith("SEAMARK_")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
