"""Short words for the events that observer tests are made of."""

import itertools
from datetime import UTC, datetime

from seamark.events import (
    Event,
    FileChanged,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
)
from seamark_sidecar.observer.scratchpad import Scratchpad

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def event(sequence, body, producer="p"):
    return Event(producer_id=producer, sequence=sequence, time=NOON, body=body)


def reported(*bodies, producer="p"):
    """The bodies as events of one producer, in order."""
    return [event(number, body, producer) for number, body in enumerate(bodies, 1)]


def watched(*bodies, root="/r"):
    """A scratchpad that has seen these."""
    pad = Scratchpad(root=root)
    for each in reported(*bodies):
        pad.apply(each)
    return pad


def called(call_id, tool="read_file", arguments='{"path": "a.py"}'):
    return ToolCalled(call_id=call_id, tool=tool, arguments_json=arguments)


def returned(call_id, result="fine", outcome=Outcome.OK):
    return ToolReturned(call_id=call_id, outcome=outcome, result=result)


def read(path, call_id):
    return called(call_id, "read_file", f'{{"path": "{path}"}}'), returned(call_id)


def edit(path, call_id):
    return called(call_id, "edit_file", f'{{"path": "{path}"}}'), returned(call_id)


_ids = itertools.count()


def ran(command, result, outcome=Outcome.OK):
    """A command and how it ended, under an id of its own."""
    call_id = f"run{next(_ids)}"
    return (
        called(call_id, "bash", f'{{"command": "{command}"}}'),
        returned(call_id, result, outcome),
    )


def said(text, kind=TextKind.REASONING):
    return TextProduced(kind=kind, text=text)


def recorded(content="Prices are in cents.", type_="gotcha", files=(), tags=()):
    return MemoryRecorded(type=type_, content=content, files=files, tags=tags)


STEP = StepCompleted()


def changed(path):
    return FileChanged(path=path)
