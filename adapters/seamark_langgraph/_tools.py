"""The tools with which an agent itself asks memory, or tells it something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool

from seamark import MemoryRecorded, Session
from seamark_langgraph._guard import Faults

UNAVAILABLE = "Memory is not available right now. Go on without it."

# The session of the run that a tool was called in; None when there is none.
SessionOf = Callable[[object], Session | None]

Found = Literal[
    "gotcha",
    "decision",
    "error_pattern",
    "dead_end",
    "pattern",
    "workflow_recipe",
    "requirement",
    "module_insight",
]
Recorded = Literal[
    "gotcha",
    "decision",
    "error_pattern",
    "dead_end",
    "pattern",
    "module_insight",
    "requirement",
    "preference",
]
Runtime = ToolRuntime[Any, Any]

SEARCH_MEMORY = (
    "Search project memory for relevant context. Use this when you need to recall past decisions, "
    "known gotchas, error patterns, or implementation approaches for the modules you are working "
    "with."
)
Query = Annotated[str, "What you want to know or recall"]
Types = Annotated[list[Found] | None, "Filter to specific memory types"]
FoundFiles = Annotated[list[str] | None, "Filter to memories about specific files"]

RECORD_MEMORY = (
    "Record an important discovery, decision, or gotcha to project memory. Use this for things "
    "future agents working in this module should know. Examples: architectural decisions, "
    "discovered constraints, patterns that work, approaches that failed and why. This goes to a "
    "scratchpad; it becomes permanent memory only after the work was validated."
)
Type = Annotated[Recorded, "Type of memory being recorded"]
Content = Annotated[str, "Detailed description of what to remember"]
RecordedFiles = Annotated[list[str] | None, "Files this memory relates to"]
Tags = Annotated[list[str] | None, "Tags for categorization (module names, feature names)"]
Tried = Annotated[str | None, "For dead_end type: what approach was tried"]
Failed = Annotated[str | None, "For dead_end type: why the approach failed"]
Alternative = Annotated[str | None, "For dead_end type: what approach was used instead"]


def memory_tools(session_of: SessionOf, faults: Faults) -> Mapping[str, BaseTool]:
    """Every tool by its name."""
    tools = (_search_memory(session_of, faults), _record_memory(session_of, faults))
    return {tool.name: tool for tool in tools}


def memory_recorded(
    type: str,
    content: str,
    related_files: list[str] | None,
    tags: list[str] | None,
    approach_tried: str | None,
    why_it_failed: str | None,
    alternative_used: str | None,
) -> MemoryRecorded:
    """What the agent wants remembered; the parts of a dead end become lines of its content."""
    lines = (
        content,
        approach_tried and f"Tried: {approach_tried}",
        why_it_failed and f"Failed because: {why_it_failed}",
        alternative_used and f"Used instead: {alternative_used}",
    )
    return MemoryRecorded(
        type=type,
        content="\n".join(line for line in lines if line),
        files=tuple(related_files or ()),
        tags=tuple(tags or ()),
    )


def _search_memory(session_of: SessionOf, faults: Faults) -> BaseTool:
    def search_memory(
        query: Query, runtime: Runtime, types: Types = None, related_files: FoundFiles = None
    ) -> str:
        with faults.guarded("search memory"):
            if session := session_of(runtime.state):
                return session.search(query, types=types or (), files=related_files or ()).text
        return UNAVAILABLE

    async def asearch_memory(
        query: Query, runtime: Runtime, types: Types = None, related_files: FoundFiles = None
    ) -> str:
        with faults.guarded("search memory"):
            if session := session_of(runtime.state):
                found = await session.asearch(query, types=types or (), files=related_files or ())
                return found.text
        return UNAVAILABLE

    return StructuredTool.from_function(
        func=search_memory,
        coroutine=asearch_memory,
        name="search_memory",
        description=SEARCH_MEMORY,
    )


def _record_memory(session_of: SessionOf, faults: Faults) -> BaseTool:
    def record_memory(
        type: Type,
        content: Content,
        runtime: Runtime,
        related_files: RecordedFiles = None,
        tags: Tags = None,
        approach_tried: Tried = None,
        why_it_failed: Failed = None,
        alternative_used: Alternative = None,
    ) -> str:
        memory = memory_recorded(
            type, content, related_files, tags, approach_tried, why_it_failed, alternative_used
        )
        with faults.guarded("record a memory"):
            if session := session_of(runtime.state):
                return session.record(memory)
        return UNAVAILABLE

    async def arecord_memory(
        type: Type,
        content: Content,
        runtime: Runtime,
        related_files: RecordedFiles = None,
        tags: Tags = None,
        approach_tried: Tried = None,
        why_it_failed: Failed = None,
        alternative_used: Alternative = None,
    ) -> str:
        memory = memory_recorded(
            type, content, related_files, tags, approach_tried, why_it_failed, alternative_used
        )
        with faults.guarded("record a memory"):
            if session := session_of(runtime.state):
                return await session.arecord(memory)
        return UNAVAILABLE

    return StructuredTool.from_function(
        func=record_memory,
        coroutine=arecord_memory,
        name="record_memory",
        description=RECORD_MEMORY,
    )
