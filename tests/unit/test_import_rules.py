"""The table of who may import whom is enforced, and the SDK stays as small as it promises."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import seamark

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sdk", "sidecar", "adapters")


def _copy_of_the_packages(destination: Path) -> Path:
    for folder in (*FOLDERS, "scripts"):
        without_bytecode = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, destination / folder, ignore=without_bytecode)
    shutil.copy(ROOT / "pyproject.toml", destination)
    return destination


def _lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    # First on the path, so that the copy is read and not the installed packages.
    path = os.pathsep.join(str(root / folder) for folder in FOLDERS)
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_package_keeps_the_rules_as_it_stands(tmp_path):
    checked = _lint_imports(_copy_of_the_packages(tmp_path))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_module_that_a_rule_names_exists():
    # A rule passes over what is missing, so a slip of the pen would switch it off.
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    named = {
        module
        for contract in settings["contracts"]
        for option in ("modules", "may_import", "never")
        for module in contract.get(option, ())
        if module.partition(".")[0] in settings["root_packages"]
    }
    assert len(named) > len(settings["root_packages"])
    assert {module for module in named if importlib.util.find_spec(module) is None} == set()


VIOLATIONS = {
    "the SDK grows a dependency": (
        "sdk/seamark/planted.py",
        "import structlog",
        "the SDK stands on grpc and protobuf alone",
    ),
    "the vocabulary learns of the wire": (
        "sdk/seamark/events.py",
        "from seamark.wire.v1 import events_pb2",
        "the vocabulary knows no wire",
    ),
    "an adapter speaks grpc": (
        "adapters/seamark_langgraph/planted.py",
        "import grpc",
        "the LangGraph adapter knows the SDK and its framework",
    ),
    "an adapter reaches into the sidecar": (
        "adapters/seamark_langgraph/planted.py",
        "import seamark_sidecar.model",
        "the LangGraph adapter knows the SDK and its framework",
    ),
    "an adapter knows a second framework": (
        "adapters/seamark_langgraph/planted.py",
        "import crewai",
        "the LangGraph adapter knows the SDK and its framework",
    ),
    "the sidecar uses an adapter": (
        "sidecar/seamark_sidecar/cli/planted.py",
        "import seamark_langgraph",
        "the sidecar knows no framework and no adapter",
    ),
    "the model calls the application": (
        "sidecar/seamark_sidecar/model/planted.py",
        "import seamark_sidecar.cli",
        "sidecar layers",
    ),
    "the model reads the wire": (
        "sidecar/seamark_sidecar/model/planted.py",
        "from seamark.wire.v1 import sidecar_pb2",
        "the model is facts and their shapes",
    ),
    "the store words an injection": (
        "sidecar/seamark_sidecar/store/planted.py",
        "import seamark_sidecar.injection.render",
        "the store knows the model and its database",
    ),
    "the store calls the api": (
        "sidecar/seamark_sidecar/store/planted.py",
        "import seamark_sidecar.api",
        "sidecar layers",
    ),
    "a room has no place among the layers": (
        "sidecar/seamark_sidecar/attic/__init__.py",
        "",
        "sidecar layers",
    ),
    "a rule opens a database": (
        "sidecar/seamark_sidecar/promotion/planted.py",
        "import sqlite3",
        "observer and promotion are rules",
    ),
    "ranking reads the wire": (
        "sidecar/seamark_sidecar/retrieval/planted.py",
        "from seamark.wire.v1 import sidecar_pb2",
        "retrieval ranks, injection chooses and words",
    ),
    "sessions speak grpc": (
        "sidecar/seamark_sidecar/sessions/planted.py",
        "import grpc",
        "sessions and jobs know rules, not edges",
    ),
    "a worker reaches for a session": (
        "sidecar/seamark_sidecar/workers/planted.py",
        "import seamark_sidecar.sessions.live",
        "workers know their protocol and their process",
    ),
    "the api opens a database": (
        "sidecar/seamark_sidecar/api/planted.py",
        "import sqlite3",
        "the api knows use-cases and grpc",
    ),
}


@pytest.mark.parametrize(("place", "line", "contract"), VIOLATIONS.values(), ids=list(VIOLATIONS))
def test_a_planted_violation_breaks_its_contract(tmp_path, place, line, contract):
    planted = _copy_of_the_packages(tmp_path) / place
    planted.parent.mkdir(exist_ok=True)
    (planted.parent / "__init__.py").touch()
    with planted.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    checked = _lint_imports(tmp_path)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert f"{contract} BROKEN" in checked.stdout
    importer = ".".join(Path(place).with_suffix("").parts[1:]).removesuffix(".__init__")
    assert importer in checked.stdout


LOADED_BY_IMPORT = """
import sys
# What grpc and protobuf bring along is their own affair.
import grpc, grpc.aio, google.protobuf.message, google.protobuf.timestamp_pb2
before = set(sys.modules)
import seamark
ASKED
print(*sorted(set(sys.modules) - before), sep="\\n")
"""


def loaded_by_import(asked="pass"):
    return subprocess.run(
        [sys.executable, "-c", LOADED_BY_IMPORT.replace("ASKED", asked)],
        cwd=ROOT / "sdk",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_the_sdk_loads_only_grpc_and_protobuf():
    loaded = loaded_by_import("seamark.Client")
    assert "seamark.client" in loaded
    allowed = {"seamark", "grpc", "google", *sys.stdlib_module_names}
    assert {name for name in loaded if name.partition(".")[0] not in allowed} == set()
    google = {name for name in loaded if name.partition(".")[0] == "google"}
    assert all(name.startswith("google.protobuf") or name == "google" for name in google)


def test_importing_the_sdk_brings_its_words_and_not_yet_its_client():
    loaded = loaded_by_import()
    assert "seamark.events" in loaded
    assert "seamark.client" not in loaded
    code = "import seamark, sys; sys.exit('grpc' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT / "sdk", check=False).returncode == 0
    )


def test_a_name_that_the_sdk_has_not_is_said_so():
    with pytest.raises(AttributeError, match="has no attribute 'Customer'"):
        _ = seamark.Customer
