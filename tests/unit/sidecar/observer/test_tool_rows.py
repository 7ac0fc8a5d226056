"""Rows about tools that users add."""

import pytest

from seamark_sidecar.observer.calls.tool_rows import NO_ROWS, Form, Row, load_rows, parse_rows
from seamark_sidecar.observer.calls.use import Action, Origin


def test_a_file_that_is_not_there_has_no_rows_and_no_problems(tmp_path):
    assert load_rows(tmp_path / "tools.toml") == (NO_ROWS, ())


def test_rows_of_every_kind_are_read(tmp_path):
    file = tmp_path / "tools.toml"
    file.write_text(
        'trusted_servers = ["files"]\n[tools]\nFetch-Doc = "web"\nrun_it = "run"\n'
        'patcher = { action = "edit", form = "patch" }\n'
        'ask = { action = "other", origin = "subagent" }\n[programs]\n"./check" = "test"\n',
        encoding="utf-8",
    )
    rows, problems = load_rows(file)
    assert problems == ()
    assert rows.tools == {
        "fetch_doc": Row(Action.WEB, origin=Origin.WEB),
        "run_it": Row(Action.RUN, Form.SHELL),
        "patcher": Row(Action.EDIT, Form.PATCH),
        "ask": Row(Action.OTHER, origin=Origin.SUBAGENT),
    }
    assert rows.programs == {"./check": Action.TEST}
    assert rows.trusted_servers == {"files"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[tools]\ngood = 'read'\nbad = 'dance'", "tools.bad: 'dance' is no action"),
        ("[tools]\ngood = 'read'\nbad = 7", "tools.bad: use an action"),
        ("[tools]\ngood = 'read'\nbad = {action='read', form='x'}", "tools.bad: 'x' is no form"),
        ("[tools]\ngood = 'read'\nbad = {action='web', origin='x'}", "'x' is no origin"),
        ("[tools]\ngood = 'read'\nbad = {action='web', colour='x'}", "'colour' is not known"),
        ("[tools]\ngood = 'read'\n[programs]\nx = 'dance'", "programs.x: 'dance' is no action"),
        ("trusted_servers = 'x'\n[tools]\ngood = 'read'", "trusted_servers must be a list"),
        ("colour = 1\n[tools]\ngood = 'read'", "'colour' is no part of this file"),
    ],
)
def test_a_problem_is_named_and_good_rows_are_kept(text, problem):
    rows, (said,) = parse_rows(text)
    assert problem in said
    assert rows.tools == {"good": Row(Action.READ)}


@pytest.mark.parametrize("content", [b"[tools", b"\xff\xfe", b"tools = 7", b"#" * (2 << 20)])
def test_a_file_that_makes_no_sense_has_one_problem(tmp_path, content):
    file = tmp_path / "tools.toml"
    file.write_bytes(content)
    rows, problems = load_rows(file)
    assert (dict(rows.tools), len(problems)) == ({}, 1)


def test_a_directory_in_its_place_is_a_problem(tmp_path):
    assert len(load_rows(tmp_path)[1]) == 1
