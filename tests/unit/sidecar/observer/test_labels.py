"""The labels that the benchmark of calls is held against."""

import json
from pathlib import Path

import pytest

from seamark_sidecar.observer.calls.use import Action

LABELS = Path(__file__).resolve().parents[3] / "labels"


def rows(name):
    return [json.loads(line) for line in (LABELS / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "least"), [("commands.jsonl", 300), ("commands_unseen.jsonl", 100)]
)
def test_labelled_commands_say_where_they_stand_and_why(name, least):
    labels = rows(name)
    assert len(labels) >= least
    assert len({(row["session"], row["ordinal"]) for row in labels}) == len(labels)
    for row in labels:
        assert row.keys() == {"session", "step", "ordinal", "kind", "reason"}
        assert row["kind"] in set(Action)
        assert row["reason"]


def test_no_command_is_labelled_in_both_files():
    first, second = (
        {(row["session"], row["ordinal"]) for row in rows(name)}
        for name in ("commands.jsonl", "commands_unseen.jsonl")
    )
    assert not first & second


def test_labelled_files_say_who_is_right():
    for row in rows("converted_files.jsonl"):
        assert row.keys() == {"session", "file", "right", "reason"}
        assert row["right"] in {"ours", "theirs", "neither"}
