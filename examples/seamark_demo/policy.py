"""A chat model that follows rules instead of weights.

It knows how to work on a project, not what is in it: every step is decided from the messages it
is given, and it cannot tell a run with memory from one without other than by what they say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from seamark_demo.situation import Situation, commands_in, edit_for, mentions

_RAISED = re.compile(r"^E\s+(?:\w+\.)*(\w+)(?::|$)", re.MULTILINE)
_ASSERTED = re.compile(r"^>\s+assert\s.*?\b(\w+\()", re.MULTILINE)
_FAILED_TEST = re.compile(r"^FAILED (\S+)", re.MULTILINE)
_FILE_LITERAL = re.compile(r"""["']([\w./-]+\.[A-Za-z]\w*)["']""")
_IMPORT = re.compile(r"^(?:from|import) ([A-Za-z_][\w.]*)", re.MULTILINE)
_MATCH = re.compile(r"^([^\s:]+\.py):\d+: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the model answers: words, and perhaps a tool call."""

    text: str
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Situation], Step | None]


class ScriptedCoder(BaseChatModel):
    """The model of the demo."""

    @property
    def _llm_type(self) -> str:
        return "scripted-coder"

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The rules name the tools they use, so the schemas are not needed."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = decide(messages)
        answer = AIMessage(content=step.text, tool_calls=_calls(step, len(messages)))
        spent, made = count_tokens_approximately(messages), count_tokens_approximately([answer])
        answer.usage_metadata = {
            "input_tokens": spent,
            "output_tokens": made,
            "total_tokens": spent + made,
        }
        return ChatResult(generations=[ChatGeneration(message=answer)])


def decide(messages: Sequence[BaseMessage]) -> Step:
    """The first rule that has something to do says what is done next."""
    seen = Situation.read(messages)
    if seen is None:
        return Step(text="I do not understand the task.")
    steps = (rule(seen) for rule in RULES)
    return next(filter(None, steps), Step(text="I could not find out why the tests fail."))


def look(seen: Situation) -> Step | None:
    """Nothing is edited before it was read."""
    if any(act.path == seen.wish.path for act in seen.acts):
        return None
    return Step(
        text=f"I will look at `{seen.wish.path}` first.",
        tool="read_file",
        arguments={"path": seen.wish.path},
    )


def change(seen: Situation) -> Step | None:
    if seen.latest("edit_file") >= 0:
        return None
    edit = edit_for(seen.wish, seen.files_read().get(seen.wish.path, ""))
    if edit is None or any(act.tool == "edit_file" for act in seen.acts):
        return Step(text=f"I do not know how to make this change in `{seen.wish.path}`.")
    return Step(
        text=f"Now the change to `{seen.wish.entry}`.",
        tool="edit_file",
        arguments={"path": seen.wish.path, "old": edit[0], "new": edit[1]},
    )


def heed(seen: Situation) -> Step | None:
    """A memory that names a command for the edited file is worth a try."""
    for command in seen.hinted_commands():
        if not _was_run(seen, command):
            return Step(
                text=f"An earlier note says that `{command}` goes with `{seen.wish.path}`.",
                tool="run",
                arguments={"command": command},
            )
    return None


def check(seen: Situation) -> Step | None:
    if seen.latest("check") > seen.latest("edit_file", "command"):
        return None
    return Step(text="Now the tests.", tool="run", arguments={"command": seen.wish.check})


def finish(seen: Situation) -> Step | None:
    if seen.acts[seen.latest("check")].failed:
        return None
    return Step(text=f"Done: `{seen.wish.entry}` is changed in `{seen.wish.path}`, all tests pass.")


def doubt(seen: Situation) -> Step | None:
    """Before the code is suspected: was the edit saved, is it this test, is it a cache?"""
    failures = [act for act in seen.acts if seen.kind(act) == "check" and act.failed]
    failed_tests = _FAILED_TEST.findall(failures[-1].result)
    if len(failures) == 1:
        if seen.latest("read_file") < seen.latest("check"):
            return Step(
                text="That is unexpected. I will check that my edit is in the file.",
                tool="read_file",
                arguments={"path": seen.wish.path},
            )
        return Step(
            text="The edit is there. I will run the failing test alone.",
            tool="run",
            arguments={"command": shlex.join([*shlex.split(seen.wish.check), *failed_tests[:1]])},
        )
    if len(failures) == 2:
        return Step(
            text="The same again. Perhaps something old is cached.",
            tool="run",
            arguments={"command": f"{seen.wish.check} --cache-clear"},
        )
    return None


def correct(seen: Situation) -> Step | None:
    """What a file says about the edited one, with a command, is the likely cause."""
    for path, text in seen.files_read().items():
        if path == seen.wish.path or not mentions(text, seen.wish.file_name):
            continue
        for command in commands_in(text):
            if not command.startswith(seen.wish.check) and not _was_run(seen, command):
                return Step(
                    text=_correction(seen, path, command),
                    tool="run",
                    arguments={"command": command},
                )
    return None


def trace_symptom(seen: Situation) -> Step | None:
    """The search starts at what the tests complain of."""
    symptom = _symptom(seen.acts[seen.latest("check")].result)
    if not symptom or symptom in _searches(seen):
        return None
    return Step(
        text=f"Not a cache. I will look for `{symptom}` in the code.",
        tool="search",
        arguments={"pattern": symptom},
    )


def trace_file(seen: Situation) -> Step | None:
    """Code that loads another file than the edited one is a lead."""
    for path, name in _loaded_files(seen):
        if name not in _searches(seen):
            return Step(
                text=f"`{path}` uses `{name}`. Where does that come from?",
                tool="search",
                arguments={"pattern": name},
            )
    return None


def follow(seen: Situation) -> Step | None:
    tried = {act.path for act in seen.acts if act.tool == "read_file"}
    for path in _leads(seen):
        if path not in tried:
            return Step(text=f"I will read `{path}`.", tool="read_file", arguments={"path": path})
    return None


RULES: tuple[Rule, ...] = (
    look,
    change,
    heed,
    check,
    finish,
    doubt,
    correct,
    trace_symptom,
    trace_file,
    follow,
)


def _calls(step: Step, place: int) -> list[ToolCall]:
    return [ToolCall(name=step.tool, args=step.arguments, id=f"call-{place}")] if step.tool else []


def _was_run(seen: Situation, command: str) -> bool:
    since_edit = seen.acts[seen.latest("edit_file") + 1 :]
    return any(act.command == command for act in since_edit)


def _symptom(output: str) -> str:
    raised = _RAISED.search(output)
    if raised and raised[1] != "AssertionError":
        return raised[1]
    asserted = _ASSERTED.search(output)
    return asserted[1] if asserted else ""


def _searches(seen: Situation) -> dict[str, str]:
    """What was searched for, and what came of it."""
    return {str(act.arguments["pattern"]): act.result for act in seen.acts if act.tool == "search"}


def _code_read(seen: Situation) -> dict[str, str]:
    return {path: text for path, text in seen.files_read().items() if _is_code(path)}


def _is_code(path: str) -> bool:
    return path.endswith(".py") and "test" not in path


def _loaded_files(seen: Situation) -> Iterator[tuple[str, str]]:
    for path, text in _code_read(seen).items():
        for name in _FILE_LITERAL.findall(text):
            if name != seen.wish.file_name and not name.endswith(".py"):
                yield path, name


def _leads(seen: Situation) -> Iterator[str]:
    """Where to read on: definitions, then users of a loaded file, imports, the other matches."""
    symptom = _symptom(seen.acts[seen.latest("check")].result)
    searches = _searches(seen)
    matches = _MATCH.findall(searches.get(symptom, ""))
    yield from (
        path for path, line in matches if line.startswith(("class ", "def ")) and _is_code(path)
    )
    for _, name in _loaded_files(seen):
        yield from (path for path, _ in _MATCH.findall(searches.get(name, "")) if _is_code(path))
    own = {path.split("/")[0] for path in _code_read(seen) if "/" in path}
    for text in _code_read(seen).values():
        for module in _IMPORT.findall(text):
            if module.split(".")[0] in own:
                yield f"{module.replace('.', '/')}.py"
    yield from (path for path, _ in matches if _is_code(path))


def _correction(seen: Situation, source: str, command: str) -> str:
    edited = seen.wish.path
    loaded = next(((path, name) for path, name in _loaded_files(seen) if path != source), None)
    fact = f"`{loaded[0]}` reads `{loaded[1]}`" if loaded else f"`{source}` shows otherwise"
    return (
        f"I initially thought my edit was enough, but {fact}: "
        f"after editing `{edited}`, `{command}` must be run, or the tests see the old values."
    )
