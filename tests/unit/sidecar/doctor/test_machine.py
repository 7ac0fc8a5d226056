"""What is said of Python, its packages and the environment."""

import pytest

from seamark_sidecar.doctor.finding import State
from seamark_sidecar.doctor.machine import judge, packages, python, settings

REQUIRED = [
    "grpcio>=1.71.2",
    "protobuf<8,>=5.29",
    "qdrant-edge-py==0.9.0; extra == 'sidecar'",
    'rich>=13.9; extra == "sidecar"',
    "seamark[sidecar,langgraph]; extra == 'demo'",
    "langgraph>=1.1; extra == 'langgraph'",
]
GOOD = {"grpcio": "1.80.0", "protobuf": "6.33.1", "qdrant-edge-py": "0.9.0", "rich": "14.2"}


def test_everything_there_and_new_enough_is_well():
    verdict = judge(REQUIRED, GOOD.get)
    assert verdict.state is State.OK
    assert "all 4" in verdict.what


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rich": None}, "rich is missing"),
        ({"rich": "13.8.9"}, "rich 13.8.9 is not >=13.9"),
        ({"qdrant-edge-py": "0.8.0"}, "qdrant-edge-py 0.8.0 is not ==0.9.0"),
        ({"qdrant-edge-py": "0.10.0"}, "qdrant-edge-py 0.10.0 is not ==0.9.0"),
        ({"protobuf": "8.0"}, "protobuf 8.0 is not <8"),
        ({"protobuf": "4.25.3"}, "protobuf 4.25.3 is not >=5.29"),
    ],
)
def test_what_is_missing_or_of_another_version_is_named(changes, named):
    found: dict[str, str | None] = {**GOOD, **changes}
    verdict = judge(REQUIRED, lambda name: found[name])
    assert verdict.state is State.FAIL
    assert verdict.what == named
    assert "pip install --upgrade 'seamark[sidecar]'" in verdict.todo


def test_what_other_extras_need_does_not_matter():
    assert judge(["langgraph>=1; extra == 'langgraph'"], GOOD.get).state is State.OK


def test_what_is_installed_but_cannot_be_imported_is_named():
    verdict = judge(REQUIRED, GOOD.get, missing=["onnxruntime"])
    assert verdict.state is State.FAIL
    assert "onnxruntime cannot be imported" in verdict.what


def test_lines_that_are_no_requirements_do_no_harm():
    assert judge(["", "???", "rich; extra == 'sidecar'"], GOOD.get).state is State.OK


def test_this_very_environment_is_well():
    assert python({}).state is State.OK
    assert packages({}).state is State.OK


def test_wrong_settings_of_either_side_are_named():
    for name in ("SEAMARK_STEP_MS", "SEAMARK_JOURNAL_MB"):
        verdict = settings({"HOME": "/home/me", name: "many"})
        assert verdict.state is State.FAIL
        assert name in verdict.what


def test_a_path_that_is_too_long_for_a_socket_is_a_wrong_setting():
    verdict = settings({"HOME": "/home/me", "SEAMARK_ADDRESS": "unix:/" + "long/" * 30})
    assert verdict.state is State.FAIL
    assert "longer than 103 bytes" in verdict.what


def test_memory_that_is_switched_off_is_said():
    assert settings({"HOME": "/home/me", "SEAMARK_DISABLED": "1"}).state is State.WARN


def test_what_is_set_is_listed():
    assert settings({"HOME": "/home/me"}).what == "all as they come"
    assert settings({"HOME": "/h", "SEAMARK_BUFFER": "1"}).what == "SEAMARK_BUFFER"
