"""What a conversation says so far: the task, what was done, what memory hints at."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

_MEMORY_BLOCK = re.compile(r"<seamark-memory\b[^>]*>(.*?)</seamark-memory\b[^>]*>", re.DOTALL)
_BACKTICKED = re.compile(r"`([^`\n]+)`")
# Nothing a shell would give a meaning of its own: what is run may come from anywhere.
_COMMAND = re.compile(r"(?:(?:python3? -m|make|npm run|uv run|sh) |\./)[\w./=: -]+")
# Without backticks only what cannot be mistaken for prose ("make sure").
_BARE_COMMAND = re.compile(r"\bpython3? -m [A-Za-z_]\w*(?:\.\w+)*|(?<=\brun )make [\w-]+")
_EXIT_CODE = re.compile(r"^exit code (-?\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the task asks for: fields of one entry of a file, and a command that must pass."""

    path: str
    entry: str
    fields: dict[str, str]
    check: str

    @property
    def file_name(self) -> str:
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One tool call and what came of it."""

    tool: str
    arguments: dict[str, Any]
    result: str

    @property
    def path(self) -> str:
        return str(self.arguments.get("path", ""))

    @property
    def command(self) -> str:
        return str(self.arguments.get("command", ""))

    @property
    def failed(self) -> bool:
        if self.tool != "run":
            return self.result.startswith("error:")
        codes = _EXIT_CODE.findall(self.result)
        return not codes or codes[-1] != "0"

    def reads(self, path: str) -> bool:
        return self.tool == "read_file" and self.path == path and not self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that the next step may depend on."""

    wish: Wish
    acts: tuple[Act, ...]
    hints: tuple[str, ...]

    @classmethod
    def read(cls, messages: Sequence[BaseMessage]) -> Situation | None:
        """None when no message asks for something that can be understood."""
        tasks = (_without_memory(m.text) for m in messages if isinstance(m, HumanMessage))
        wish = next(filter(None, map(understand, tasks)), None)
        if wish is None:
            return None
        return cls(
            wish=wish,
            acts=tuple(_acts(messages)),
            hints=tuple(dict.fromkeys(_hints(messages))),
        )

    def latest(self, *acts: str) -> int:
        """Where the newest act of these kinds stands; -1 for nowhere."""
        return max((i for i, act in enumerate(self.acts) if self.kind(act) in acts), default=-1)

    def kind(self, act: Act) -> str:
        """`check` and `command` tell the two uses of `run` apart; a failed edit is none."""
        if act.tool == "run":
            return "check" if act.command.startswith(self.wish.check) else "command"
        return "failure" if act.failed else act.tool

    def files_read(self) -> dict[str, str]:
        """The text of every file that was read, in order."""
        return {act.path: act.result for act in self.acts if self.kind(act) == "read_file"}

    def hinted_commands(self) -> list[str]:
        """Commands from memories that speak of the file to be edited."""
        about = (hint for hint in self.hints if mentions(hint, self.wish.file_name))
        commands = (command for hint in about for command in commands_in(hint))
        return [c for c in dict.fromkeys(commands) if not c.startswith(self.wish.check)]


def understand(task: str) -> Wish | None:
    """Reads "set the `field` of `entry` to `value`", or "add `entry`: `field` is `value`"."""
    quoted = _BACKTICKED.findall(task)
    path = next((text for text in quoted if re.fullmatch(r"[\w./-]+\.\w+", text)), "")
    check = next((text for text in quoted if _COMMAND.fullmatch(text)), "")
    if not path or not check:
        return None
    if change := re.search(r"\bset the `(\w+)` of `(\w+)` to `([^`]+)`", task, re.IGNORECASE):
        field, entry, value = change.groups()
        return Wish(path=path, entry=entry, fields={field: value}, check=check)
    if addition := re.search(r"\badd (?:\w+ )*`(\w+)`", task, re.IGNORECASE):
        fields = dict(re.findall(r"`(\w+)` is `([^`]+)`", task))
        return Wish(path=path, entry=addition[1], fields=fields, check=check)
    return None


def edit_for(wish: Wish, text: str) -> tuple[str, str] | None:
    """The old and new text for a JSON file with one entry per line; None if there is no way."""
    lines = text.splitlines()
    entries = [line for line in lines if re.match(r'\s+"\w+": ', line)]
    for line in entries:
        if line.strip().startswith(f'"{wish.entry}":'):
            changed = line
            for field, value in wish.fields.items():
                written = rf'("{re.escape(field)}": )"[^"]*"'
                changed = re.sub(written, rf"\g<1>{json.dumps(value)}", changed)
            return (line, changed) if changed != line else None
    if not entries:
        return None
    last = entries[-1].rstrip(",")
    indent = last[: len(last) - len(last.lstrip())]
    return last, f'{last},\n{indent}"{wish.entry}": {json.dumps(wish.fields)}'


def commands_in(text: str) -> list[str]:
    """What in a text is a command to run."""
    quoted = [each for each in _BACKTICKED.findall(text) if _COMMAND.fullmatch(each)]
    return quoted or _BARE_COMMAND.findall(text)


def mentions(text: str, name: str) -> bool:
    """Whether a file's name stands in the text as a word of its own."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _acts(messages: Sequence[BaseMessage]) -> Iterator[Act]:
    results = {m.tool_call_id: m.text for m in messages if isinstance(m, ToolMessage)}
    for message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if (result := results.get(call["id"] or "")) is not None:
                    yield Act(
                        tool=call["name"], arguments=call["args"], result=_without_memory(result)
                    )


def _hints(messages: Sequence[BaseMessage]) -> Iterator[str]:
    for message in messages:
        for block in _MEMORY_BLOCK.findall(message.text):
            for line in block.splitlines():
                if line.lstrip().startswith("- "):
                    yield html.unescape(line.strip()[2:])


def _without_memory(text: str) -> str:
    return _MEMORY_BLOCK.sub("", text)
