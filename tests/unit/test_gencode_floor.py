"""The committed stubs load on the oldest runtimes that the package admits."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "sdk" / "seamark" / "wire" / "v1"
MESSAGES = sorted(STUBS.glob("*_pb2.py"))
SERVICES = sorted(STUBS.glob("*_pb2_grpc.py"))


Version = tuple[int, int, int]


def _version(pattern: str, text: str) -> Version:
    """The first version that the pattern finds; what it leaves out counts as 0."""
    found = re.search(pattern, text)
    assert found is not None, f"{pattern} is nowhere in the text"
    major, minor, patch, *_ = *(int(part) for part in re.findall(r"\d+", found[1])), 0, 0
    return major, minor, patch


def _floor(package: str) -> Version:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (requirement,) = (
        line for line in project["dependencies"] if re.match(rf"{package}\b(?!-)", line)
    )
    return _version(r">=([\d.]+)", requirement)


def _message_stamp(path: Path) -> Version:
    call = r"ValidateProtobufRuntimeVersion\(\s*[\w.]+,\s*(\d+,\s*\d+,\s*\d+),"
    return _version(call, path.read_text("utf-8"))


def _service_stamp(path: Path) -> Version:
    return _version(r"GRPC_GENERATED_VERSION = '([\d.]+)'", path.read_text("utf-8"))


def test_there_are_stubs_for_every_contract_file():
    contract = {path.stem for path in (ROOT / "proto" / "seamark" / "wire" / "v1").glob("*.proto")}
    assert contract
    assert {path.name.removesuffix("_pb2.py") for path in MESSAGES} == contract
    assert {path.name.removesuffix("_pb2_grpc.py") for path in SERVICES} == contract


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_messages_load_on_the_oldest_protobuf(path):
    assert _message_stamp(path) <= _floor("protobuf")


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_services_load_on_the_oldest_grpcio(path):
    assert _service_stamp(path) <= _floor("grpcio")
