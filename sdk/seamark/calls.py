"""The sidecar's calls as a table that drives the blocking and the async side alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from seamark.wire.v1 import sidecar_pb2 as wire

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

_SERVICE = "/seamark.wire.v1.SidecarService/"


@dataclass(frozen=True, slots=True)
class Call(Generic[Request, Response]):
    """One unary call: its path on the wire, what goes in and what comes out."""

    path: str
    request: type[Request]
    response: type[Response]


INGEST = Call(_SERVICE + "Ingest", wire.IngestRequest, wire.IngestResponse)
START_SESSION = Call(_SERVICE + "StartSession", wire.StartSessionRequest, wire.StartSessionResponse)
PREPARE_STEP = Call(_SERVICE + "PrepareStep", wire.PrepareStepRequest, wire.PrepareStepResponse)
AUGMENT_TOOL_RESULT = Call(
    _SERVICE + "AugmentToolResult", wire.AugmentToolResultRequest, wire.AugmentToolResultResponse
)
SEARCH = Call(_SERVICE + "Search", wire.SearchRequest, wire.SearchResponse)
RECORD = Call(_SERVICE + "Record", wire.RecordRequest, wire.RecordResponse)
CHECKPOINT = Call(_SERVICE + "Checkpoint", wire.CheckpointRequest, wire.CheckpointResponse)
COMPLETE_SESSION = Call(
    _SERVICE + "CompleteSession", wire.CompleteSessionRequest, wire.CompleteSessionResponse
)
REPORT_VALIDATION = Call(
    _SERVICE + "ReportValidation", wire.ReportValidationRequest, wire.ReportValidationResponse
)
STATUS = Call(_SERVICE + "Status", wire.StatusRequest, wire.StatusResponse)
