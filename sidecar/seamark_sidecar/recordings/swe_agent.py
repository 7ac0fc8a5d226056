"""Trajectories of SWE-agent and of mini-SWE-agent.

SWE-agent writes a list `trajectory` of thoughts, actions and observations; mini-SWE-agent writes
the `messages` of the model, with its commands in fenced blocks or as tool calls.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from seamark.events import Body, ToolCalled
from seamark_sidecar.recordings import blocks, values
from seamark_sidecar.recordings.pairing import Pairing
from seamark_sidecar.recordings.recording import Recording, Turn
from seamark_sidecar.recordings.values import Row

_FENCES = ("```mswea_bash_command\n", "```bash\n", "```sh\n", "```shell\n")
_EXIT_CODE = re.compile(r"<returncode>\s{0,8}(-?[0-9]{1,10})\s{0,8}</returncode>")
_OUTPUT = ("<output>", "</output>")
_LONGEST_WORDS = 4096
# What mini-SWE-agent says of a run.
_INFO = frozenset({"exit_status", "model_stats", "mini_version", "submission"})
# Commands of SWE-agent's own that are no programs: the names of their arguments.
_OWN_COMMANDS = {
    "open": ("path", "line_number"),
    "goto": ("line_number",),
    "create": ("path",),
    "search_dir": ("search_term", "dir"),
    "search_file": ("search_term", "file"),
    "find_file": ("file_name", "dir"),
    "scroll_up": (),
    "scroll_down": (),
    "submit": (),
}
_EDITOR = "str_replace_editor"
_EDITOR_OPTIONS = frozenset({"file_text", "old_str", "new_str", "insert_line", "view_range"})


def matches(document: object) -> bool:
    """Whether the parsed JSON is of one of these forms."""
    found = values.row(document)
    if isinstance(found.get("trajectory"), list):
        return True
    mini = values.text(found.get("trajectory_format")).startswith("mini-swe-agent")
    stated = not _INFO.isdisjoint(values.row(found.get("info")))
    return isinstance(found.get("messages"), list) and (mini or stated)


def read(document: Row, name: str) -> Recording:
    """The recording; `name` is for one that does not say its own."""
    steps = values.rows(document.get("trajectory"))
    messages = values.rows(document.get("history") or document.get("messages"))
    return Recording(
        session_id=values.text(document.get("instance_id")) or name,
        task=_task(messages),
        root=_root(document, steps),
        turns=tuple(_steps(steps) if "trajectory" in document else _messages(messages)),
    )


def _task(messages: list[Row]) -> str:
    # Written by a harness around the issue: what the task is, not what a person said.
    return next(
        (
            text
            for message in messages
            if message.get("role") == "user" and (text := values.text(message.get("content")))
        ),
        "",
    )


def _root(document: Row, steps: list[Row]) -> str:
    config = values.row(values.row(document.get("info")).get("config"))
    if cwd := values.text(values.row(config.get("environment")).get("cwd")):
        return cwd
    first = values.row(steps[0].get("state")) if steps else {}
    return values.text(first.get("working_dir"))


# SWE-agent.


def _steps(steps: list[Row]) -> Iterator[Turn]:
    file = _OpenFile()
    for number, entry in enumerate(steps, 1):
        for body in _step(entry, f"call-{number}", file):
            yield Turn(step=number, body=body)


def _step(entry: Row, call_id: str, file: _OpenFile) -> Iterator[Body]:
    yield from blocks.thought(entry.get("thought") or entry.get("response"))
    action = values.text(entry.get("action")).strip()
    if action:
        yield file.called(call_id, action)
        yield values.returned(call_id, entry.get("observation"), failed=False)


class _OpenFile:
    """The file that SWE-agent's editor shows: some of its commands name none."""

    def __init__(self) -> None:
        self._path = ""

    def called(self, call_id: str, action: str) -> ToolCalled:
        """The action as a tool call."""
        head, _, rest = action.partition(" ")
        if head == "edit":
            arguments = {"path": self._path, "edit": rest} if self._path else {"edit": rest}
            return values.called(call_id, head, arguments)
        if head == _EDITOR:
            return values.called(call_id, head, _editor_arguments(rest))
        names = _OWN_COMMANDS.get(head)
        if names is None:
            return values.called(call_id, "bash", {"command": action})
        arguments = dict(zip(names, _words(rest), strict=False))
        self._path = arguments.get("path", self._path)
        return values.called(call_id, head, arguments)


def _editor_arguments(rest: str) -> dict[str, object]:
    """`view /repo/a.py --view_range 1 50` as the arguments of the tool."""
    words = _words(rest)
    arguments: dict[str, object] = dict(zip(("command", "path"), words, strict=False))
    option = ""
    given: dict[str, list[str]] = {}
    for word in words[2:]:
        if word.startswith("--") and word[2:] in _EDITOR_OPTIONS:
            option = word[2:]
            given[option] = []
        elif option:
            given[option].append(word)
    for name, parts in given.items():
        numbers = [int(part) for part in parts if part.lstrip("-").isdecimal() and len(part) < 10]
        arguments[name] = numbers if name == "view_range" else " ".join(parts)
    return arguments


def _words(text: str) -> list[str]:
    # Of a very long one the beginning says enough; the rest is the text of an edit.
    text = text if len(text) <= _LONGEST_WORDS else text[:_LONGEST_WORDS]
    try:
        return shlex.split(text)
    except ValueError:  # An open quote.
        return text.split()


# mini-SWE-agent.


def _messages(messages: list[Row]) -> Iterator[Turn]:
    pairing = Pairing()
    step = 0
    for message in messages:
        extra = values.row(message.get("extra"))
        role = message.get("role")
        step += role == "assistant"
        found = (
            _answer(message, extra)
            if role == "assistant"
            # Without a call before it, it is a harness that speaks.
            else _observations(message, extra)
            if pairing.is_waiting
            else ()
        )
        when = values.seconds(extra.get("timestamp") or message.get("timestamp"))
        for body in found:
            yield Turn(step=step, seconds=when, body=pairing.placed(body))


def _answer(message: Row, extra: Row) -> Iterator[Body]:
    yield from blocks.thought(message.get("reasoning_content"))
    thought = values.text(message.get("content"))
    calls = [*_tool_calls(message)]
    if not calls:
        thought, command = _unfenced(thought)
        calls = [*_commands(extra, command)]
    yield from blocks.thought(thought)
    yield from calls
    response = values.row(extra.get("response"))
    used = values.taken(response.get("usage") or extra.get("usage"))
    if used is not None:
        yield used


def _tool_calls(message: Row) -> Iterator[ToolCalled]:
    for call in values.rows(message.get("tool_calls")):
        function = values.row(call.get("function"))
        yield values.called(call.get("id"), function.get("name"), function.get("arguments"))


def _commands(extra: Row, fenced: str) -> Iterator[ToolCalled]:
    given = [values.text(each.get("command")) for each in values.rows(extra.get("actions"))]
    for command in filter(None, given or [fenced]):
        yield values.called("", "bash", {"command": command})


def _unfenced(text: str) -> tuple[str, str]:
    """The text around the first block with a command, and the command."""
    for fence in _FENCES:
        begin = text.find(fence)
        if begin >= 0:
            body = begin + len(fence)
            end = text.find("\n```", body)
            if end >= 0:
                return f"{text[:begin].rstrip()}\n{text[end + 4 :].lstrip()}", text[body:end]
    return text, ""


def _observations(message: Row, extra: Row) -> Iterator[Body]:
    if message.get("role") not in ("user", "tool"):
        return
    content = values.text(message.get("content"))
    code = _EXIT_CODE.search(content[:10_000])
    status = values.number(extra.get("returncode"), unless=int(code[1]) if code else 0)
    result = _between(content, *_OUTPUT)
    yield values.returned(message.get("tool_call_id"), result, failed=status != 0)


def _between(text: str, opening: str, closing: str) -> str:
    begin, end = text.find(opening), text.rfind(closing)
    if 0 <= begin < end:
        return text[begin + len(opening) : end].strip("\n")
    return text
