"""Files of every form, and of none."""

import gzip
import json
import os

import pytest

from seamark_sidecar.recordings import detect
from seamark_sidecar.recordings.recording import Unreadable
from seamark_sidecar.recordings.source import read_text

NEUTRAL = {"session_id": "n", "events": [{"type": "user", "step": 0, "text": "x"}]}
CLAUDE = {"type": "user", "sessionId": "c", "message": {"role": "user", "content": "x"}}
SWE = {"instance_id": "w", "trajectory": [{"action": "ls", "observation": ""}]}
MESSAGE = {"role": "user", "content": "x"}


def ids(path):
    return [each.session_id for each in detect.read(path)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps(NEUTRAL), ["n"]),
        (json.dumps(NEUTRAL, indent=1), ["n"]),
        ("\ufeff" + json.dumps(NEUTRAL), ["n"]),
        (json.dumps(CLAUDE), ["c"]),
        (json.dumps(CLAUDE) + "\n\n" + json.dumps({"type": "summary"}) + "\n", ["c"]),
        (json.dumps(SWE), ["w"]),
        (json.dumps([MESSAGE]), ["a"]),
        (json.dumps(MESSAGE) + "\n" + json.dumps(MESSAGE), ["a"]),
        (json.dumps({"messages": [MESSAGE]}) + "\n" + json.dumps({"messages": [MESSAGE]}),
         ["a-1", "a-2"]),
        (json.dumps(NEUTRAL) + "\n" + json.dumps(NEUTRAL), ["n", "n"]),
    ],
)  # fmt: skip
def test_a_form_is_told_by_what_a_file_holds(tmp_path, text, found):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.json.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    assert [name.replace("a.txt", "a") for name in ids(plain)] == found
    assert ids(packed) == found


def refusal(path):
    with pytest.raises(Unreadable) as caught:
        detect.read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "empty"),
        (b"{}", "no form"),
        (b"[1, 2]", "no form"),
        (b'{"name": "package", "version": "1"}', "no form"),
        (b'{"events": []}', "nothing happens"),
        (json.dumps(NEUTRAL).encode()[:-9], "cut off"),
        (json.dumps(CLAUDE).encode() + b'\n{"type": "us', "line 2"),
        (b"\x80\x04\x95\x1a\x00\x00\x00", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (gzip.compress(b'{"events": [' * 999)[:-12], "cut off"),
        (b"\x1f\x8b\x07garbage", "unpacked"),
    ],
)
def test_what_is_no_recording_is_refused_with_a_reason(tmp_path, raw, why):
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    assert why in refusal(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    with pytest.raises(Unreadable, match="more than 1 MB"):
        read_text(path, largest=1 << 20)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    assert "not a file" in refusal(tmp_path / "pipe.json")
    assert "No such file" in refusal(tmp_path / "absent.json")


def test_a_directory_is_walked_by_name(tmp_path):
    for name in ("b/2.jsonl", "a/1.traj", "0.json.gz", "readme.md", "b/x.traj.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = [str(each.relative_to(tmp_path)) for each in detect.files(tmp_path)]
    assert found == ["0.json.gz", "a/1.traj", "b/2.jsonl", "b/x.traj.json"]
