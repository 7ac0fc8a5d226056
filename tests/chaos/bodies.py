"""What the agents report: a function of who reports and of a number, so it can be checked."""

from __future__ import annotations

import json

from seamark import (
    Body,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)

KINDS = 6
# Said by many sessions, and yet to be learnt once in each project.
COMMON = tuple(
    f"{thing} {rule}"
    for thing in ("Prices", "Taxes", "Discounts", "Shipping fees")
    for rule in (
        "are kept in cents, never in euros",
        "must be rounded after the last addition",
        "come from the catalogue service alone",
    )
)


def body(label: str, sequence: int) -> Body:
    """What the producer of this label reports under this number; no two are alike."""
    mark = f"[{label}.{sequence}]"
    file = f"src/module_{sequence % 20}.py"
    match sequence % KINDS:
        case 0:
            return UserSaid(text=f"Have a look at the totals {mark}.")
        case 1:
            return TextProduced(kind=TextKind.REASONING, text=f"The sum is off by one {mark}.")
        case 2:
            arguments = json.dumps({"path": file, "note": mark})
            return ToolCalled(call_id=call_id(sequence), tool="read_file", arguments_json=arguments)
        case 3:
            result = f"return sum(row.cents for row in rows)  # {mark}\n" * 4
            return ToolReturned(call_id=call_id(sequence - 1), outcome=Outcome.OK, result=result)
        case 4:
            return TextProduced(kind=TextKind.ANSWER, text=f"It is done {mark}.")
        case _:
            return StepCompleted(input_tokens=sequence, output_tokens=len(label))


def call_id(sequence: int) -> str:
    """Of the tool call with this number."""
    return f"call_{sequence}"


def unique(label: str, sequence: int) -> str:
    """A sentence that no other session says, with words that only it has."""
    return (
        f"The {label}x{sequence} gateway of {label} answers twice when ticket {label}y{sequence} "
        "is reopened during a deploy"
    )


def record(content: str) -> MemoryRecorded:
    """The agent's wish to remember it."""
    return MemoryRecorded(type="gotcha", content=content, files=("src/gateway.py",))
