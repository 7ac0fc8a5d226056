"""Recordings in few words."""

import json

from seamark.events import (
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)


def told(recording):
    """What is sent for a recording, one tuple an event."""
    return [(sent.step, *_told(sent.body)) for sent in recording.events()]


def without_steps(recording):
    """The same without the ends of the steps."""
    return [each for each in told(recording) if each[1] != "step"]


def _told(body):
    match body:
        case UserSaid():
            return "user", body.text
        case TextProduced():
            return "thinks" if body.kind is TextKind.REASONING else "says", body.text
        case ToolCalled():
            return "calls", body.call_id, body.tool, json.loads(body.arguments_json)
        case ToolReturned():
            outcome = "failed" if body.outcome is Outcome.ERROR else "gave"
            return outcome, body.call_id, body.result
        case StepCompleted():
            return "step", body.input_tokens, body.output_tokens
