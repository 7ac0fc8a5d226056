"""A model that plays a script, and ways to run an agent with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

WAYS = ("invoke", "ainvoke", "stream", "astream")
# Typed as the framework's users write them, not as its stubs want them.
ASKED: Any = {"messages": "fix the bug"}
THREAD: Any = {"configurable": {"thread_id": "t"}}


class ScriptedModel(BaseChatModel):
    """Says the next line of its script: as many lines on as it finds answers in the messages."""

    script: list[AIMessage]
    # What it received, call by call.
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tool_names=[tool.name for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        *,
        tool_names: Sequence[str] = (),
        **kwargs: Any,
    ) -> ChatResult:
        line = self._line(messages, tool_names)
        return ChatResult(generations=[ChatGeneration(message=line)])

    def _line(self, messages: list[BaseMessage], tool_names: Sequence[str]) -> AIMessage:
        self.seen.append(list(messages))
        self.offered.append(list(tool_names))
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        return self.script[spoken % len(self.script)].model_copy(deep=True)


class StreamingModel(ScriptedModel):
    """The same, word by word."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        *,
        tool_names: Sequence[str] = (),
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        line = self._line(messages, tool_names)
        for word in line.text.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word + " "))
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                tool_call_chunks=[
                    {"name": call["name"], "args": "{}", "id": call["id"], "index": index}
                    for index, call in enumerate(line.tool_calls)
                ],
                chunk_position="last",
            )
        )


def calls(*wanted: tuple[str, str, dict[str, Any]], text: str = "") -> AIMessage:
    """A line that calls tools, each given as (tool, call id, arguments)."""
    return AIMessage(
        text,
        tool_calls=[{"name": name, "id": call_id, "args": args} for name, call_id, args in wanted],
    )


async def play(agent: Any, way: str, asked: Any, config: Any = None) -> list[BaseMessage]:
    """Runs the agent in one of the WAYS; returns the messages it ends with."""
    match way:
        case "invoke":
            ended = agent.invoke(asked, config)
        case "ainvoke":
            ended = await agent.ainvoke(asked, config)
        case "stream":
            *_, ended = agent.stream(asked, config, stream_mode="values")
        case "astream":
            *_, ended = [each async for each in agent.astream(asked, config, stream_mode="values")]
        case _:
            raise ValueError(way)
    return list(ended["messages"])


def gist(messages: Sequence[BaseMessage]) -> list[Any]:
    """What makes up a conversation, without the ids that differ from run to run."""
    return [
        (message.type, message.content, [call["id"] for call in getattr(message, "tool_calls", [])])
        for message in messages
    ]
