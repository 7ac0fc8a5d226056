"""What a tool call is taken to mean."""

import json

import pytest

from seamark_sidecar.observer.calls.arguments import PATH_KEYS
from seamark_sidecar.observer.calls.tool_rows import ROWS, parse_rows
from seamark_sidecar.observer.calls.tools import LONGEST_COMMAND, understand
from seamark_sidecar.observer.calls.use import Action, Origin, Shows, Touch
from seamark_sidecar.observer.calls.workplace import Workplace

ROOT = "/home/dev/shop"


def use(tool, root=ROOT, workplace=None, rows=None, **arguments):
    more = {} if rows is None else {"rows": rows}
    return understand("c1", tool, json.dumps(arguments), root, workplace=workplace, **more)


@pytest.mark.parametrize(("tool", "row"), sorted(ROWS.items()))
def test_every_known_tool_is_understood_without_arguments(tool, row):
    action = use(tool).action
    assert action is row.action


@pytest.mark.parametrize(
    "tool", ["Read_File", " read-file ", "READ.FILE", "read file", "fs/read_file"]
)
def test_the_spelling_of_a_tool_does_not_matter(tool):
    assert use(tool, path="a.py").action is Action.READ


@pytest.mark.parametrize("tool", ["", "frobnicate", "reader", "\0", "read_file_now", "mcp__", "__"])
def test_a_tool_nobody_knows_is_other(tool):
    assert use(tool).action is Action.OTHER


@pytest.mark.parametrize("key", [each for each in PATH_KEYS if each != "source"])
def test_every_path_key_names_the_file(key):
    assert use("read_file", **{key: "src/cart.py"}).files == ("src/cart.py",)


@pytest.mark.parametrize("key", ["filePath", "FilePath", "file-path", "TargetFile", "AbsolutePath"])
def test_keys_are_known_however_they_are_joined(key):
    assert use("read_file", **{key: "src/cart.py"}).files == ("src/cart.py",)


@pytest.mark.parametrize("key", ["command", "cmd", "commands", "CommandLine"])
def test_every_command_key_gives_the_command(key):
    called = use("bash", **{key: "make test"})
    assert (called.command, called.action, called.runner) == ("make test", Action.TEST, "make test")


def test_a_tool_that_does_not_run_has_no_command():
    assert use("read_file", path="a.py", command="rm -rf /").command == ""


def test_a_command_is_kept_only_so_far():
    assert len(use("bash", command="x" * 100_000).command) == LONGEST_COMMAND


# tool, arguments, action, files
FAMILIES = [
    ("Read", {"file_path": f"{ROOT}/a.py", "offset": 5, "limit": 10}, "read", "a.py"),
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "edit", "a.py"),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x"}]}, "edit", "a.py"),
    ("Write", {"file_path": "a.py", "content": "x"}, "write", "a.py"),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "edit", "a.ipynb"),
    ("Grep", {"pattern": "x", "path": "src"}, "search_text", ""),
    ("Glob", {"pattern": "**/*.py"}, "search_files", ""),
    ("LS", {"path": ROOT}, "search_files", ""),
    ("WebFetch", {"url": "https://docs.example.org", "prompt": "x"}, "web", ""),
    ("TodoWrite", {"todos": []}, "other", ""),
    # LangChain
    ("list_directory", {"dir_path": "src"}, "search_files", ""),
    ("file_search", {"dir_path": "src", "pattern": "*.py"}, "search_files", ""),
    ("terminal", {"commands": ["cat a.py", "cat b.py"]}, "read", "a.py b.py"),
    ("copy_file", {"source_path": "a.py", "destination_path": "b.py"}, "run", "b.py"),
    # deepagents
    ("edit_file", {"file_path": "a.py", "old_string": "x", "new_string": ""}, "edit", "a.py"),
    ("execute", {"command": "sed -i s/a/b/ a.py"}, "edit", "a.py"),
    # OpenHands
    ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [1, 9]},
     "read", "a.py"),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"},
     "write", "a.py"),
    ("str_replace_editor", {"command": "str_replace", "path": "a.py", "old_str": "x"},
     "edit", "a.py"),
    ("str_replace_editor", {"command": "view", "path": "/workspace"}, "search_files", ""),
    ("execute_bash", {"command": "head -5 a.py"}, "read", "a.py"),
    ("browser", {"code": "goto('https://example.org/x')"}, "ui", ""),
    # SWE-agent
    ("open", {"path": "a.py", "line_number": 10}, "read", "a.py"),
    ("search_dir", {"search_term": "x", "dir": "src"}, "search_text", ""),
    ("find_file", {"file_name": "a.py", "dir": "src"}, "search_files", ""),
    ("create", {"filename": "a.py"}, "write", "a.py"),
    # Codex
    ("shell", {"command": ["bash", "-lc", "cat a.py | head"]}, "read", "a.py"),
    ("shell", {"command": ["cat", "a b.py"]}, "read", "a b.py"),
    ("exec_command", {"cmd": "rg -n foo src"}, "search_text", ""),
    # Cursor, VS Code, Gemini, Cline and their like
    ("run_terminal_cmd", {"command": "git status"}, "vcs", ""),
    ("read_file", {"target_file": "a.py", "start_line_one_indexed": 3}, "read", "a.py"),
    ("replace_string_in_file", {"filePath": "a.py", "oldString": "x", "newString": "y"},
     "edit", "a.py"),
    ("fetch_webpage", {"urls": ["https://example.org"], "query": "x"}, "web", ""),
    ("read_many_files", {"paths": ["a.py", "b.py"]}, "read", "a.py b.py"),
    ("search_files", {"path": "src", "regex": "x"}, "search_text", ""),
    ("search_files", {"path": "src", "pattern": "x"}, "search_files", ""),
    ("write_to_file", {"TargetFile": "a.py", "CodeContent": "x"}, "write", "a.py"),
    # MCP
    ("mcp__filesystem__read_text_file", {"path": "a.py"}, "read", "a.py"),
    ("mcp__fs__edit_file", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]},
     "edit", "a.py"),
    ("mcp__playwright__browser_click", {"ref": "e1"}, "ui", ""),
    # OpenAI
    ("python", {"code": "open('a.py', 'w').write('x')"}, "edit", "a.py"),
    ("python", {"code": "print(1)"}, "run", ""),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "action", "files"), FAMILIES)
def test_the_tools_of_known_agents_are_understood(tool, arguments, action, files):
    called = use(tool, **arguments)
    assert (str(called.action), " ".join(called.files)) == (action, files)


def test_an_edit_says_what_it_replaces_and_writes():
    called = use("Edit", file_path="a.py", old_string="one\ntwo", new_string="three")
    assert called.touches == (Touch("a.py", Action.EDIT, replaced="one\ntwo"),)
    assert called.written == "three"


def test_several_edits_of_one_call_are_several_touches():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    called = use("MultiEdit", file_path="a.py", edits=edits)
    assert [touch.replaced for touch in called.touches] == ["a", "c"]
    assert called.files == ("a.py",)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"offset": 5, "limit": 10}, (5, 14)),
        ({"limit": 10}, (1, 10)),
        ({"start_line": 3, "end_line": 4}, (3, 4)),
        ({"view_range": [7, 9]}, (7, 9)),
        ({"view_range": [7, -1]}, (7, 0)),
        ({"startLine": "3", "endLine": "8"}, (3, 8)),
        ({"offset": "many", "limit": None}, (0, 0)),
        ({"offset": -4, "limit": True}, (0, 0)),
        ({}, (0, 0)),
    ],
)
def test_the_lines_read_are_known(arguments, lines):
    (touch,) = use("read_file", path="a.py", **arguments).touches
    assert (touch.first_line, touch.last_line) == lines


def test_a_search_keeps_its_pattern_and_its_place():
    called = use("Grep", pattern="def total", path=f"{ROOT}/src")
    assert (called.patterns, called.places, called.files) == (("def total",), ("src",), ())


def test_an_editor_that_shows_one_file_edits_the_one_that_is_open():
    place = Workplace.at(ROOT)
    use("open", workplace=place, path="src/a.py")
    called = use("edit", workplace=place, search="x", replace="y")
    assert called.touches == (Touch("src/a.py", Action.EDIT, replaced="x"),)
    assert use("goto", workplace=place, line_number=7).touches == (
        Touch("src/a.py", Action.READ, 7, 0),
    )


def test_an_apply_patch_call_names_its_files_itself():
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"
    )
    called = use("apply_patch", input=patch)
    assert (called.files, called.gone, called.action) == (("a.py",), ("b.py",), Action.EDIT)


def test_edit_blocks_name_their_files_themselves():
    block = "src/a.py\n```python\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```"
    assert use("aider", edits=[block]).touches == (Touch("src/a.py", Action.EDIT, replaced="old"),)
    called = use("replace_in_file", path="b.py", diff=block.partition("python\n")[2])
    assert called.files == ("b.py",)


def test_a_path_outside_is_kept_apart():
    called = use("read_file", path="/etc/hosts")
    assert (called.files, called.outside) == ((), ("/etc/hosts",))


@pytest.mark.parametrize(
    ("tool", "arguments", "origin"),
    [
        ("WebSearch", {"query": "x"}, Origin.WEB),
        ("WebFetch", {"url": "https://example.org"}, Origin.WEB),
        ("WebFetch", {"url": "http://localhost:8000/x"}, None),
        ("get_issue", {"id": 7}, Origin.ISSUE_TRACKER),
        ("Task", {"prompt": "x"}, Origin.SUBAGENT),
        ("Read", {"file_path": "node_modules/x/index.js"}, Origin.DEPENDENCY),
        ("Read", {"file_path": "/usr/lib/python3/dist-packages/x.py"}, Origin.DEPENDENCY),
        ("Grep", {"pattern": "x", "path": ".venv/lib"}, Origin.DEPENDENCY),
        ("Write", {"file_path": "vendor/x.go", "content": "x"}, None),
        ("mcp__db__query", {"sql": "x"}, Origin.UNTRUSTED_SERVER),
        ("mcp__filesystem__read_file", {"path": "a.py"}, Origin.UNTRUSTED_SERVER),
        ("browser_navigate", {"url": "https://example.org"}, Origin.WEB),
        ("browser_navigate", {"url": "http://127.0.0.1:3000"}, None),
        ("Read", {"file_path": "a.py"}, None),
        ("bash", {"command": "curl https://example.org"}, Origin.WEB),
    ],
)
def test_text_from_outside_is_known_by_its_origin(tool, arguments, origin):
    assert use(tool, **arguments).origin is origin


def test_a_page_of_the_own_machine_stays_so_until_the_browser_leaves_it():
    place = Workplace.at(ROOT)
    use("browser_navigate", workplace=place, url="http://localhost:3000")
    assert use("browser_snapshot", workplace=place).origin is None
    use("browser_navigate", workplace=place, url="https://example.org")
    assert use("browser_snapshot", workplace=place).origin is Origin.WEB


def test_a_server_that_the_user_trusts_brings_no_outside_text():
    rows, _ = parse_rows('trusted_servers = ["filesystem", "fetch"]')
    assert use("mcp__filesystem__read_file", rows=rows, path="a.py").origin is None
    assert use("mcp__fetch__fetch", rows=rows, url="https://example.org").origin is Origin.WEB


def test_rows_of_the_user_win():
    rows, problems = parse_rows(
        '[tools]\ndeploy-it = "vcs"\nread = "web"\n[programs]\nverify = "test"'
    )
    assert problems == ()
    assert use("Deploy It", rows=rows).action is Action.VCS
    assert use("Read", rows=rows, file_path="a.py").action is Action.WEB
    called = use("bash", rows=rows, command="verify src | tail")
    assert (called.action, called.runner) == (Action.TEST, "verify")


@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("change_document", {"path": "a.py", "old_str": "x", "new_str": "y"}, Action.EDIT),
        ("myReadTool", {"file_path": "a.py"}, Action.READ),
        ("file_writer_write", {"path": "a.py", "content": "x"}, Action.WRITE),
        ("project_grep", {"pattern": "x"}, Action.SEARCH_TEXT),
        ("my_shell", {"command": "cat a.py"}, Action.READ),
        ("load", {"url": "https://example.org"}, Action.WEB),
        ("send_mail", {"path": "a.py", "content": "x"}, Action.OTHER),
        ("robot", {"command": "walk"}, Action.OTHER),
        ("write", {}, Action.WRITE),
        ("read_sensor", {"pin": 4}, Action.OTHER),
    ],
)
def test_an_unknown_tool_is_known_by_its_arguments_only_where_they_leave_no_doubt(
    tool, arguments, action
):
    assert use(tool, **arguments).action is action


def test_a_tool_with_one_nameless_argument_is_understood():
    assert understand("c", "terminal", '"cat a.py"', ROOT).files == ("a.py",)
    assert understand("c", "read_file", '"a.py"', ROOT).files == ("a.py",)
    assert understand("c", "bash", '{"__arg1": "cat a.py"}', ROOT).files == ("a.py",)


def test_a_shell_that_stays_where_it_went_reads_paths_from_there():
    place = Workplace.at(ROOT)
    use("Bash", workplace=place, command="cd src && ls")
    assert use("Bash", workplace=place, command="cat a.py").files == ("src/a.py",)
    use("Bash", workplace=place, command="cd /elsewhere")
    assert use("Bash", workplace=place, command="cat a.py").files == ("a.py",)


def test_a_shell_that_starts_anew_forgets_where_it_went():
    place = Workplace.at(ROOT)
    use("bash", workplace=place, command="cd src && ls")
    assert use("bash", workplace=place, command="cat a.py").files == ("a.py",)


def test_a_shell_that_is_started_in_a_directory_reads_paths_from_there():
    called = use("shell", command=["cat", "a.py"], workdir=f"{ROOT}/src")
    assert called.files == ("src/a.py",)


def test_a_script_changes_files_when_it_is_run_not_when_it_is_written():
    place = Workplace.at(ROOT)
    use("Read", workplace=place, file_path="src/a.py")
    written = use("Write", workplace=place, file_path="fix.py", content="open('src/a.py', 'w')")
    assert written.files == ("fix.py",)
    ran = use("bash", workplace=place, command="python fix.py")
    assert (ran.action, ran.changed, ran.named) == (Action.RUN, ("src/a.py",), ("fix.py",))


def test_a_look_at_the_working_tree_is_known_as_one():
    assert use("git_status").shows is Shows.STATUS
    assert use("git_diff_unstaged").shows is Shows.DIFF


@pytest.mark.parametrize(
    "arguments",
    ["", "null", "[]", "7", "{", "[" * 50_000, "9" * 5_000, '{"path": 7}', '{"path": ""}'],
)
def test_arguments_that_make_no_sense_name_no_file(arguments):
    assert understand("c1", "read_file", arguments, ROOT).files == ()


@pytest.mark.parametrize("order", [("path", "content"), ("content", "path")])
def test_the_file_is_known_when_its_content_was_too_long_to_arrive_whole(order):
    values = {"path": "src/cart.py", "content": 'say "path": "no"\n' * 9_000}
    whole = json.dumps({key: values[key] for key in order})
    cut = whole[:30_000] + "\n[... 99 characters cut by seamark ...]\n" + whole[-30_000:]
    assert understand("c1", "write_file", cut, ROOT).files == ("src/cart.py",)
