"""Whatever an agent sends, a call is understood without an exception, and the same way twice."""

import json

from hypothesis import given
from hypothesis import strategies as st

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.calls.patches import read_patch
from seamark_sidecar.observer.calls.paths import likely_root, project_path
from seamark_sidecar.observer.calls.scripts import changed_files
from seamark_sidecar.observer.calls.shell import parse
from seamark_sidecar.observer.calls.tool_rows import ROWS, parse_rows
from seamark_sidecar.observer.calls.tools import understand
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.calls.workplace import Workplace
from seamark_sidecar.observer.results.result import read_result

PIECES = [
    "cat", "sed", "-i", "-n", "'3,9p'", "grep", "-e", "git", "diff", "checkout", "--", "apply",
    "python", "-c", "-m", "pytest", "- <<EOF\n", "\nEOF\n", "<<'A'", "|", "&&", "||", ";", "\n",
    ">", ">>", "<", "<<<", "2>&1", "(", ")", "{", "}", "$(", "`", '"', "'", "\\", "$x", "${", "x=",
    "for", "in", "do", "done", "if", "then", "fi", "cd", "..", "/", "~", "a.py", "src/b.py", "*",
    "-exec", "{}", "find", "xargs", "sudo", "env", "timeout", "bash", "-lc", "eval", "tee", "mv",
    "cp", "rm", "edit", "3:5", "open", "curl", "https://x.org", "npm", "test", "head", "-", "--",
    "awk", "perl", "-pi", "sort", "-o", "patch", "é", "\0", "\t", "find_file", "make", "uv", "run",
]  # fmt: skip
COMMANDS = st.one_of(
    st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip
NAMES = (
    "path file_path command cmd commands pattern regex query url edits diff patch input old_str"
    " new_str content view_range offset limit files paths code source destination"
)
KEYS = st.sampled_from(sorted(NAMES.split())) | st.text(max_size=10)
TOOLS = st.sampled_from([*ROWS, "Bash", "mcp__x__y", "mcp__x__read_file", "a.b"]) | st.text(
    max_size=20
)
RESULTS = st.text(max_size=400) | st.lists(
    st.sampled_from(
        [
            "1 passed",
            " in 0.1s",
            "=",
            "\n",
            "a.py:3:x",
            " M a.py",
            "diff --git a/x b/x",
            "ok 1",
            "\t",
        ]
    ),
    max_size=30,
).map("".join)


@given(st.lists(COMMANDS, max_size=4), RESULTS, st.sampled_from(["", "/r", "C:\\r", "rel"]))
def test_any_commands_are_understood_and_the_same_way_twice(commands, output, root):
    def seen():
        place = Workplace.at(root)
        for tool in ("Bash", "bash"):
            for command in commands:
                arguments = json.dumps({"command": command})
                use = understand("c", tool, arguments, root, workplace=place)
                returned = ToolReturned(call_id="c", outcome=Outcome.ERROR, result=output)
                yield use, read_result(use, returned, root, place.roots)

    first = list(seen())
    assert first == list(seen())
    for use, _ in first:
        assert isinstance(use.action, Action)
        for path in (*use.files, *use.places, *use.named, *use.gone):
            assert not path.startswith(("/", "../"))
            assert path not in {"", ".", ".."}


@given(TOOLS, st.dictionaries(KEYS, JSON, max_size=6) | JSON, RESULTS)
def test_any_call_is_understood(tool, arguments, output):
    use = understand("c", tool, json.dumps(arguments), "/r")
    for outcome in Outcome:
        read_result(use, ToolReturned(call_id="c", outcome=outcome, result=output), "/r")


@given(st.text(), st.text(max_size=200))
def test_arguments_that_are_no_arguments_are_understood(tool, arguments):
    understand("c", tool, arguments, "")


@given(COMMANDS)
def test_no_text_breaks_the_parser(text):
    for simple in parse(text):
        assert all(isinstance(word, str) for word in simple.words)


@given(st.text(max_size=400), st.text(max_size=20))
def test_no_text_breaks_the_smaller_readers(text, root):
    read_patch(text, root)
    changed_files(text)
    parse_rows(text)
    project_path(text, root)
    likely_root(text.split())
