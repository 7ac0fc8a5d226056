"""The result of the demo, for people and for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seamark_demo.runs import Demo, Run

NAMES: Mapping[str, str] = MappingProxyType(
    {"learn": "1 learn", "with_memory": "2 with memory", "control": "3 control"}
)
POINTS: Mapping[str, str] = MappingProxyType(
    {
        "session_start": "in the system prompt",
        "first_message": "with the first message",
        "tool_result": "behind a tool's result",
        "prepare_step": "before a model call",
        "search": "as the answer to a search",
    }
)
ROWS: Mapping[str, Callable[[Run], str]] = MappingProxyType(
    {
        "task": lambda run: run.task.title,
        "memory": lambda run: "on" if run.account.session_id else "off",
        "tool calls": lambda run: str(run.tool_calls),
        "failed commands": lambda run: str(run.failed_commands),
        "tokens in messages (approx.)": lambda run: f"{run.message_tokens:,}",
        "wall time": lambda run: f"{run.wall_seconds:.1f} s",
        "memories injected": lambda run: str(len(run.injections)),
        "project's tests": lambda run: "pass" if run.tests_pass else "FAIL",
    }
)
NEXT = (
    "Try it on your own project: start `seamark up`, and make your agent with",
    "  create_agent(model, tools, middleware=[SeamarkMiddleware()])",
)
WIDEST = 100  # Longer lines are hard to read, however wide the window is.


def as_json(demo: Demo) -> dict[str, Any]:
    """One object for programs."""
    return {
        "runs": [
            {
                "name": run.name,
                "tool_calls": run.tool_calls,
                "failed_commands": run.failed_commands,
                "message_tokens": run.message_tokens,
                "wall_seconds": round(run.wall_seconds, 3),
                "injections": [
                    {
                        "point": each.point,
                        "memory_id": each.memory_id,
                        "citation": each.citation,
                        "reason": each.reason,
                    }
                    for each in run.injections
                ],
            }
            for run in demo.runs
        ],
        "memories": demo.memories,
    }


def show(demo: Demo, console: Console) -> None:
    """A table, and below it what was learnt, used and held back."""
    console.print()
    console.print(_table(demo.runs))
    width = min(console.width, WIDEST)
    for title, items in _sections(demo).items():
        console.print(Text(f"\n{title}", style="bold"))
        for what, why in items or [("nothing", "")]:
            for text, indent, style in ((what, 2, ""), (why, 4, "dim")):
                for line in _wrapped(text, indent, width):
                    console.print(Text(line, style=style), soft_wrap=True)
    console.print()
    for line in (*_verdict(demo.runs), "", *NEXT):
        console.print(Text(line), soft_wrap=True)


def _table(runs: Sequence[Run]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("")
    for run in runs:
        table.add_column(NAMES[run.name], justify="right")
    for title, cell in ROWS.items():
        table.add_row(title, *map(cell, runs))
    return table


def _sections(demo: Demo) -> dict[str, list[tuple[str, str]]]:
    """What and why, under each title."""
    fates = [(NAMES[run.name], fate) for run in demo.runs for fate in run.account.fates]
    return {
        "What was learnt": [
            (f"run {name}: {fate.content}", f"{fate.signal}: {fate.reason}")
            for name, fate in fates
            if fate.fate in {"promoted", "reinforced"}
        ],
        "What was injected, where and why": [
            (
                f"run {NAMES[run.name]}: {each.citation} [{each.memory_id}]",
                f"{POINTS.get(each.point, each.point)}: {each.reason}",
            )
            for run in demo.runs
            for each in run.injections
        ],
        "What was held back, and what would release it": [
            (f"run {name}: {fate.content}", f"{fate.reason}; {fate.release}".rstrip("; "))
            for name, fate in fates
            if fate.fate == "held"
        ],
    }


def _verdict(runs: Sequence[Run]) -> Iterator[str]:
    by_name = {run.name: run for run in runs}
    if not {"with_memory", "control"} <= by_name.keys():
        return
    run, control = by_name["with_memory"], by_name["control"]
    change = round(100 * (run.message_tokens / control.message_tokens - 1))
    yield (
        f"The same task: {run.tool_calls} tool calls with memory, {control.tool_calls} without; "
        f"{change:+d} % tokens (approx.)."
    )


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    # What agents wrote may hold control sequences; a terminal would obey them.
    plain = "".join(each if each.isprintable() else " " for each in text)
    margin = " " * indent
    return textwrap.wrap(
        plain,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_on_hyphens=False,
    )
