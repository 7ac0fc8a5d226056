"""Trajectories of SWE-agent and mini-SWE-agent."""

import pytest

from seamark_sidecar.recordings import swe_agent

from .said import told, without_steps


def acted(*actions):
    steps = [{"action": action, "observation": "out", "thought": "hm"} for action in actions]
    return swe_agent.read({"trajectory": steps}, "file")


def called(action):
    return next(each for each in without_steps(acted(action)) if each[1] == "calls")[3:]


def test_each_entry_is_a_step_with_its_thought_its_action_and_what_it_gave():
    assert without_steps(acted("ls -F\n", "cat a.py")) == [
        (1, "thinks", "hm"),
        (1, "calls", "call-1", "bash", {"command": "ls -F"}),
        (1, "gave", "call-1", "out"),
        (2, "thinks", "hm"),
        (2, "calls", "call-2", "bash", {"command": "cat a.py"}),
        (2, "gave", "call-2", "out"),
    ]


@pytest.mark.parametrize(
    ("action", "tool", "arguments"),
    [
        ("open src/a.py 40", "open", {"path": "src/a.py", "line_number": "40"}),
        ('search_dir "def f" src', "search_dir", {"search_term": "def f", "dir": "src"}),
        ("find_file a.py", "find_file", {"file_name": "a.py"}),
        ("submit", "submit", {}),
        (
            "str_replace_editor view /repo/a.py --view_range 1 50",
            "str_replace_editor",
            {"command": "view", "path": "/repo/a.py", "view_range": [1, 50]},
        ),
        (
            "str_replace_editor str_replace /repo/a.py --old_str 'a b' --new_str 'c'",
            "str_replace_editor",
            {"command": "str_replace", "path": "/repo/a.py", "old_str": "a b", "new_str": "c"},
        ),
        ("grep 'unclosed", "bash", {"command": "grep 'unclosed"}),
    ],
)
def test_commands_of_its_own_are_tools(action, tool, arguments):
    assert called(action) == (tool, arguments)


def test_an_edit_is_one_of_the_open_file():
    sent = without_steps(acted("open a.py", "edit 1:2\nx = 1\nend_of_edit"))
    tool, arguments = sent[4][3:]
    assert (tool, arguments["path"]) == ("edit", "a.py")
    assert arguments["edit"].startswith("1:2\n")


def mini(*messages, **facts):
    document = {"trajectory_format": "mini-swe-agent-1", "messages": list(messages), **facts}
    assert swe_agent.matches(document)
    return swe_agent.read(document, "file")


TASK = ({"role": "system", "content": "be good"}, {"role": "user", "content": "the issue"})


def test_a_command_in_a_fenced_block_is_run():
    recording = mini(
        *TASK,
        {"role": "assistant", "content": "THOUGHT: hm\n\n```bash\nls\ncat a\n```\nso"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno a\n</output>"},
    )
    assert without_steps(recording) == [
        (1, "thinks", "THOUGHT: hm\nso"),
        (1, "calls", "call-1", "bash", {"command": "ls\ncat a"}),
        (1, "failed", "call-1", "no a"),
    ]
    assert recording.task == "the issue"


def test_tool_calls_are_run_too_and_answered_by_their_ids():
    def call(name, command):
        arguments = f'{{"command": "{command}"}}'
        return {"id": name, "function": {"name": "bash", "arguments": arguments}}

    recording = mini(
        *TASK,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("a", "ls"), call("b", "pwd")],
            "extra": {"response": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}},
        },
        {"role": "tool", "tool_call_id": "b", "content": "/x", "extra": {"returncode": 0}},
        {"role": "tool", "tool_call_id": "a", "content": "y", "extra": {"returncode": 1}},
        info={"config": {"environment": {"cwd": "/testbed"}}},
    )
    assert told(recording) == [
        (1, "calls", "a", "bash", {"command": "ls"}),
        (1, "calls", "b", "bash", {"command": "pwd"}),
        (1, "gave", "b", "/x"),
        (1, "failed", "a", "y"),
        (1, "step", 9, 2),
    ]
    assert recording.root == "/testbed"


def test_what_a_harness_says_in_between_is_no_person():
    recording = mini(
        *TASK,
        {"role": "assistant", "content": "no command"},
        {"role": "user", "content": "Please give exactly one command."},
    )
    assert without_steps(recording) == [(1, "thinks", "no command")]
