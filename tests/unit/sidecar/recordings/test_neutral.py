"""The neutral form."""

from seamark_sidecar.recordings import neutral

from .said import told, without_steps


def read(*events, **facts):
    return neutral.read({"events": list(events), **facts}, "named")


def test_events_become_what_the_agent_did():
    recording = read(
        {"type": "user", "step": 0, "text": "fix it"},
        {"type": "step", "step": 1},
        {"type": "reasoning", "step": 1, "kind": "thinking", "text": "hm"},
        {"type": "reasoning", "step": 1, "kind": "say", "text": "so"},
        {"type": "tool_call", "step": 1, "tool": "Read", "id": "a", "args": {"file_path": "x.py"}},
        {"type": "tool_result", "step": 1, "id": "a", "result": "1", "is_error": True},
    )
    assert without_steps(recording) == [
        (0, "user", "fix it"),
        (1, "thinks", "hm"),
        (1, "says", "so"),
        (1, "calls", "a", "Read", {"file_path": "x.py"}),
        (1, "failed", "a", "1"),
    ]


def test_where_there_is_a_raw_command_only_the_command_is_sent():
    (call,) = without_steps(
        read(
            {
                "type": "tool_call",
                "step": 1,
                "tool": "Read",
                "args": {"command": "cat a.py", "file_path": "a.py", "files": ["a.py"]},
            }
        )
    )
    assert call[3:] == ("bash", {"command": "cat a.py"})


def test_what_an_editor_is_to_do_is_no_raw_command():
    args = {"command": "view", "path": "a.py"}
    event = {"type": "tool_call", "step": 1, "tool": "str_replace_editor", "args": args}
    (call,) = without_steps(read(event))
    assert call[3:] == ("str_replace_editor", args)


def test_what_a_converter_guessed_is_left_out():
    args = {"file_path": "a.py", "files": ["b.py"], "bash_kind": "test", "native_tool": "view"}
    (call,) = without_steps(read({"type": "tool_call", "step": 1, "tool": "Read", "args": args}))
    assert call[4] == {"file_path": "a.py"}


def test_results_without_ids_belong_to_the_calls_in_their_order():
    sent = without_steps(
        read(
            {"type": "tool_call", "step": 1, "tool": "A", "args": {}},
            {"type": "tool_call", "step": 1, "tool": "B", "args": {}},
            {"type": "tool_result", "step": 1, "result": "of A"},
            {"type": "tool_result", "step": 1, "result": "of B"},
        )
    )
    assert sent[0][2] == sent[2][2]
    assert sent[1][2] == sent[3][2]


def test_a_result_without_a_call_is_sent_all_the_same():
    ((_, said, _, result),) = without_steps(read({"type": "tool_result", "step": 1, "result": "x"}))
    assert (said, result) == ("gave", "x")


def test_the_context_at_a_call_is_what_the_step_read():
    sent = told(
        read(
            {"type": "reasoning", "step": 1, "text": "hm", "tokens": 20},
            {"type": "tool_call", "step": 1, "tool": "A", "args": {}, "tokens": 9000},
        )
    )
    assert sent[-1] == (1, "step", 9000, 20)


def test_the_checkout_is_where_most_paths_have_the_repositorys_name():
    paths = ["/Users/me/src/shop/cart/shop/a.py", "/Users/me/src/shop/b.py", "/tmp/shop/x"]
    calls = [{"type": "tool_call", "step": 1, "args": {"file_path": path}} for path in paths]
    assert read(*calls, repo="acme/shop").root == "/Users/me/src/shop"
    assert read(*calls, repo="").root == ""
    assert read(*calls, repo="acme/other").root == ""


def test_the_checkout_shows_in_commands_too():
    command = {"command": "cd '/home/me/shop' && ls"}
    assert read({"type": "tool_call", "args": command}, repo="acme/shop").root == "/home/me/shop"


def test_a_recording_without_a_name_has_that_of_its_file():
    assert read().session_id == "named"
    assert read(session_id="own").session_id == "own"


def test_events_of_unknown_kinds_and_odd_shapes_are_passed_over():
    sent = without_steps(
        read(
            {"type": "weather", "step": 1},
            {"type": "user", "step": "one", "text": ["a", {"text": "b"}]},
            {"type": "tool_call", "step": None, "tool": 7, "args": "none", "id": 3},
            {"type": "tool_result", "step": True, "result": {"ok": [1]}},
        )
    )
    assert sent[0] == (1, "user", "a\nb")
    assert sent[1][3:] == ("", {})
    assert sent[2][3] == '{"ok": [1]}'
