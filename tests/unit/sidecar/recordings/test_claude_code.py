"""Transcripts of Claude Code."""

from seamark_sidecar.recordings import claude_code

from .said import told, without_steps


def line(kind, content, **more):
    return {
        "type": kind,
        "sessionId": "abc",
        "uuid": more.pop("uuid", None),
        "cwd": "/home/me/shop",
        "gitBranch": "main",
        "timestamp": "2026-02-03T10:00:00.000Z",
        "message": {"role": kind, "content": content, **more.pop("message", {})},
        **more,
    }


CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "1"}]}


def test_a_conversation_becomes_what_the_agent_did():
    lines = [
        {"type": "summary", "summary": "x"},
        line("user", "fix it"),
        line("assistant", [{"type": "thinking", "thinking": "hm"}], message={"id": "m1"}),
        line("assistant", [{"type": "text", "text": "so"}], message={"id": "m1"}),
        line("assistant", [CALL], message={"id": "m1"}),
        line("user", [RESULT]),
        line("assistant", [{"type": "text", "text": "done"}], message={"id": "m2"}),
    ]
    assert claude_code.matches(lines)
    recording = claude_code.read(lines, "file")
    assert without_steps(recording) == [
        (0, "user", "fix it"),
        (1, "thinks", "hm"),
        (1, "says", "so"),
        (1, "calls", "t1", "Read", {"file_path": "a.py"}),
        (1, "gave", "t1", "1"),
        (2, "says", "done"),
    ]
    assert recording.session_id == "abc"
    assert recording.task == "fix it"
    assert (recording.root, recording.branch) == ("/home/me/shop", "main")


def test_a_shell_call_is_its_command_alone():
    tool = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls", "timeout": 9}}
    (call,) = without_steps(claude_code.read([line("assistant", [tool])], "file"))
    assert call[3:] == ("bash", {"command": "ls"})


def test_an_error_is_one():
    failed = {**RESULT, "is_error": True}
    sent = without_steps(claude_code.read([line("assistant", [CALL]), line("user", [failed])], "f"))
    assert sent[-1][1] == "failed"


def test_tokens_are_those_of_the_whole_prompt_counted_once():
    usage = {"input_tokens": 3, "cache_read_input_tokens": 1000, "output_tokens": 50}
    lines = [
        line("assistant", [CALL], message={"id": "m1", "usage": usage}),
        line("assistant", [{"type": "text", "text": "x"}], message={"id": "m1", "usage": usage}),
    ]
    assert told(claude_code.read(lines, "file"))[-1] == (1, "step", 1003, 50)


def test_what_the_app_wrote_in_the_persons_name_is_left_out():
    lines = [
        line("user", "caveat", isMeta=True),
        line("user", "so far ...", isCompactSummary=True),
        line("user", "<command-name>/clear</command-name>"),
        line("user", "real"),
    ]
    assert without_steps(claude_code.read(lines, "file")) == [(0, "user", "real")]


def test_a_line_that_is_repeated_counts_once():
    lines = [line("user", "a", uuid="1"), line("user", "a", uuid="1"), line("user", "a", uuid="2")]
    assert len(without_steps(claude_code.read(lines, "file"))) == 2


def test_a_subagents_talk_is_left_out_unless_it_is_all_there_is():
    aside = line("assistant", "aside", isSidechain=True, agentId="7f")
    assert without_steps(claude_code.read([line("user", "a"), aside], "f")) == [(0, "user", "a")]
    alone = claude_code.read([aside], "f")
    assert without_steps(alone) == [(1, "says", "aside")]
    assert alone.session_id == "abc/7f"


def test_other_lines_are_of_another_form():
    assert not claude_code.matches([{"type": "user", "content": "x"}, 3, None])
