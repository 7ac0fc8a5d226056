"""A recording sidecar with something to say at every point, and tools to work with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import tool

from seamark import Client
from seamark.testing import RecordingSidecar

# Long enough for a busy machine; what deadlines do is tested where they matter.
PATIENT = {"session_start_deadline": 10.0, "tool_result_deadline": 10.0, "step_deadline": 10.0}


@pytest.fixture
def sidecar() -> Iterator[RecordingSidecar]:
    with RecordingSidecar() as recording:
        recording.system = "[system memory]"
        recording.first_message = "[prefetched]"
        recording.step = "[step memory]"
        recording.tool_result = "[tool memory]"
        yield recording


@pytest.fixture
def client(sidecar: RecordingSidecar) -> Iterator[Client]:
    made: Client = sidecar.client(close_deadline=10.0, **PATIENT)
    yield made
    made.close(timeout=1.0)


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return f"contents of {path}"


@tool
def explode(why: str) -> str:
    """Fails."""
    raise ValueError(f"bad {why}")


@pytest.fixture
def tools() -> list[Any]:
    return [read_file, explode]
