"""What commands ask of a sidecar and how they show its answers, over a real socket."""

import asyncio
import json
import os
import pty
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc
import pytest

from seamark.wire.v1 import operator_pb2 as operator
from seamark.wire.v1 import operator_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.cli.root import run

HOSTILE = "\x1b]0;owned\x07\x9b2J [bold red]alarm[/] :bomb: \u202egnp.exe \u2066x"


def memory(**changes):
    facts = {
        "memory_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "project_id": "p1",
        "project_name": "shop",
        "type": "gotcha",
        "content": "Prices are in cents.\nFormat them only in views.",
        "files": ["shop/cart.py", "shop/views.py"],
        "tags": ["money"],
        "confidence": 0.9,
        "source": "user_taught",
        "label": "gotcha: Prices are in cents.",
        **changes,
    }
    record = operator.MemoryRecord(**facts)
    record.create_time.FromJsonString("2026-01-02T03:04:05Z")
    return record


class CannedSidecar(operator_pb2_grpc.OperatorServiceServicer):
    """Answers what it was told to, and keeps what it was asked."""

    def __init__(self, address, data_dir):
        self.address = address
        self.data_dir = data_dir
        self.asked = []
        self.wire = []
        self.answers = {}
        # (code, details, reason)
        self.refusal = None

    async def _answer(self, name, request, context):
        self.asked.append(request)
        self.wire.append(dict(context.invocation_metadata()).get("seamark-wire"))
        if self.refusal:
            code, details, reason = self.refusal
            trailing = (("seamark-reason", reason),) if reason else ()
            await context.abort(code, details, trailing)
        return self.answers[name]

    async def Remember(self, request, context):  # noqa: N802 - named by the contract.
        return await self._answer("remember", request, context)

    async def FindMemories(self, request, context):  # noqa: N802
        return await self._answer("search", request, context)

    async def ListMemories(self, request, context):  # noqa: N802
        return await self._answer("memories", request, context)

    async def ExplainSession(self, request, context):  # noqa: N802
        return await self._answer("explain", request, context)

    async def ObserveSession(self, request, context):  # noqa: N802
        return await self._answer("observe", request, context)

    async def status(self, request, context):
        return await self._answer("status", request, context)


def set_mode(path, mode):
    path.chmod(mode)


@pytest.fixture
async def sidecar(monkeypatch):
    for name in os.environ:
        if name.startswith("SEAMARK_") or name in {"XDG_RUNTIME_DIR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    # Socket paths are short; pytest's own directories are not.
    with tempfile.TemporaryDirectory(prefix="sm") as directory:
        path = Path(directory, "s.sock")
        canned = CannedSidecar(f"unix:{path}", directory)
        server = grpc.aio.server()
        operator_pb2_grpc.add_OperatorServiceServicer_to_server(canned, server)
        status = grpc.unary_unary_rpc_method_handler(
            canned.status, wire.StatusRequest.FromString, wire.StatusResponse.SerializeToString
        )
        service = grpc.method_handlers_generic_handler(
            "seamark.wire.v1.SidecarService", {"Status": status}
        )
        server.add_generic_rpc_handlers((service,))
        server.add_insecure_port(canned.address)
        await server.start()
        set_mode(path, 0o600)
        monkeypatch.setenv("SEAMARK_DATA_DIR", directory)
        monkeypatch.setenv("SEAMARK_ADDRESS", canned.address)
        monkeypatch.setenv("COLUMNS", "80")
        yield canned
        await server.stop(grace=None)


@pytest.fixture
def command(sidecar, capsys):
    """Runs one command line: its exit code, what it printed, and what it complained about."""

    async def ask(*arguments):
        code = await asyncio.to_thread(run, arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


def is_tame(text):
    return not [char for char in text if char != "\n" and not char.isprintable()]


async def test_every_call_says_which_wire_it_speaks(sidecar, command):
    sidecar.answers["status"] = wire.StatusResponse()
    await command("status")
    assert sidecar.wire == ["1"]


async def test_status_shows_where_the_sidecar_is_and_what_it_holds(sidecar, command):
    answer = wire.StatusResponse(
        sidecar_version="0.1.0",
        process_id=4711,
        memory_count=1234,
        project_count=3,
        open_session_count=1,
        pending_session_count=2,
        event_count=99,
        rejected_event_count=1,
        dropped_event_count=2,
        redacted_secret_count=4,
        quarantined_event_count=5,
        data_dir=sidecar.data_dir,
        oldest_wire=1,
        newest_wire=2,
    )
    answer.start_time.GetCurrentTime()
    answer.start_time.seconds -= 2 * 3600 + 5 * 60 + 30
    sidecar.answers["status"] = answer
    code, out, err = await command("status")
    assert (code, err) == (0, "")
    assert "Sidecar 0.1.0 is running (pid 4711, up 2 h 5 min)" in out
    for fact in (
        sidecar.address,
        sidecar.data_dir,
        "1 to 2",
        "1,234 in 3 projects",
        "1 open, 2 waiting for validation",
        "99 stored, 1 rejected, 2 dropped, 5 quarantined",
        "4 redacted",
    ):
        assert fact in out
    code, out, _ = await command("status", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["running"] is True
    assert (told["pid"], told["memory_count"], told["newest_wire"]) == (4711, 1234, 2)
    assert told["address"] == sidecar.address
    assert 7500 < told["uptime_s"] < 7600


async def test_memories_are_listed_with_id_type_confidence_files_and_first_line(sidecar, command):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(
        memories=[memory(), memory(memory_id="ffff", needs_review=True, pinned=True, files=[])]
    )
    code, out, err = await command("memories")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "0a1b2c3d4e5f6071  gotcha  0.90",
        "    Prices are in cents. …",
        "    shop/cart.py, shop/views.py",
        "ffff  gotcha  0.90  pinned  needs review",
        "    Prices are in cents. …",
    ]


async def test_memories_as_json_are_whole(sidecar, command):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory()])
    _, out, _ = await command("memories", "--json", "--all", "--limit", "7")
    (told,) = json.loads(out)["memories"]
    assert told["memory_id"] == "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    assert told["content"] == "Prices are in cents.\nFormat them only in views."
    assert told["create_time"] == "2026-01-02T03:04:05+00:00"
    (asked,) = sidecar.asked
    assert asked.every_project
    assert not asked.HasField("project")
    assert asked.limit == 7


async def test_memories_of_every_project_name_their_project(sidecar, command):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory()])
    _, out, _ = await command("memories", "--all")
    assert "project shop" in out


async def test_a_list_that_reaches_its_limit_says_so(sidecar, command):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory()])
    _, out, _ = await command("memories", "--limit", "1")
    assert "--limit" in out


async def test_no_words_are_cut_and_lines_fit_80_columns_when_piped(sidecar, command):
    content = "Whenever a tariff changes the published fees must be generated again " * 5
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory(content=content)])
    sidecar.answers["search"] = operator.FindMemoriesResponse(
        hits=[wire.MemoryHit(memory_id="m", type="gotcha", content=content)]
    )
    words = {*content.split(), "…", "m"}
    for arguments in (["memories"], ["search", "fees"]):
        _, out, _ = await command(*arguments)
        assert max(map(len, out.splitlines())) <= 80
        assert set(out.splitlines()[1].split()) <= words


async def test_the_project_is_the_current_directory_unless_one_is_named(
    sidecar, command, tmp_path, monkeypatch
):
    sidecar.answers["search"] = operator.FindMemoriesResponse()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    await command("search", "cents", "price")
    await command("search", "x", "--project", "other", "--limit", "3")
    first, second = sidecar.asked
    assert (first.project.path, first.query, first.limit) == (str(tmp_path), "cents price", 10)
    assert (second.project.path, second.limit) == (str(tmp_path / "other"), 3)


async def test_search_shows_whole_texts_best_first(sidecar, command):
    sidecar.answers["search"] = operator.FindMemoriesResponse(
        hits=[
            wire.MemoryHit(memory_id="one", type="gotcha", content="First.\nMore.", score=2),
            wire.MemoryHit(memory_id="two", type="decision", content="Second.", files=["a.py"]),
        ]
    )
    code, out, _ = await command("search", "x")
    assert code == 0
    assert out.splitlines() == [
        "one  gotcha  0.00",
        "    First.",
        "    More.",
        "",
        "two  decision  0.00",
        "    Second.",
        "    a.py",
    ]
    _, out, _ = await command("search", "x", "--json")
    assert [hit["memory_id"] for hit in json.loads(out)["hits"]] == ["one", "two"]


async def test_finding_nothing_is_said_and_is_no_failure(sidecar, command):
    sidecar.answers["search"] = operator.FindMemoriesResponse()
    sidecar.answers["memories"] = operator.ListMemoriesResponse()
    code, out, _ = await command("search", "cents")
    assert code == 0
    assert "Nothing about cents" in out
    code, out, _ = await command("memories")
    assert code == 0
    assert "Nothing is remembered" in out
    code, out, _ = await command("memories", "--json")
    assert json.loads(out) == {"memories": []}


async def test_a_hostile_memory_cannot_steer_the_terminal(sidecar, command):
    hostile = memory(
        memory_id=HOSTILE, type=HOSTILE, content=HOSTILE, files=[HOSTILE], project_name=HOSTILE
    )
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[hostile])
    sidecar.answers["search"] = operator.FindMemoriesResponse(
        hits=[wire.MemoryHit(memory_id=HOSTILE, type=HOSTILE, content=HOSTILE, files=[HOSTILE])]
    )
    sidecar.answers["remember"] = operator.RememberResponse(memory=hostile)
    sidecar.answers["status"] = wire.StatusResponse(sidecar_version=HOSTILE, data_dir=HOSTILE)
    sidecar.answers["explain"] = operator.ExplainSessionResponse(
        session_id=HOSTILE,
        project_name=HOSTILE,
        state=HOSTILE,
        line=HOSTILE,
        candidates=[
            operator.CandidateFate(
                signal=HOSTILE,
                type=HOSTILE,
                content=HOSTILE,
                fate=HOSTILE,
                reason=HOSTILE,
                release=HOSTILE,
                memory_id=HOSTILE,
            )
        ],
        injections=[
            operator.InjectionRecord(
                point=HOSTILE, memory_id=HOSTILE, label=HOSTILE, reason=HOSTILE
            )
        ],
    )
    for arguments in (
        ["memories", "--all"],
        ["search", "x"],
        ["remember", "x"],
        ["status"],
        ["explain"],
    ):
        code, out, err = await command(*arguments)
        assert code == 0
        assert is_tame(out)
        assert is_tame(err)
        assert "\\x1b]0;owned\\x07" in out
        code, out, _ = await command(*arguments, "--json")
        assert code == 0
        assert out.isascii()
        assert is_tame(out)
        assert json.dumps(HOSTILE) in out
    _, out, _ = await command("search", "x")
    assert "[bold red]alarm[/] :bomb:" in out


async def test_text_from_a_script_counts_as_an_agents_word(sidecar, command, tmp_path):
    sidecar.answers["remember"] = operator.RememberResponse(
        memory=memory(needs_review=True, source="agent_explicit")
    )
    code, out, _ = await command(
        *("remember", "Prices", "are in cents", "--type", "decision", "--pin", "--redact"),
        *("--file", "a.py", "--file", "/x/b.py", "--tag", "money", "--project", str(tmp_path)),
    )
    assert code == 0
    (asked,) = sidecar.asked
    assert asked.content == "Prices are in cents"
    assert asked.type == "decision"
    assert list(asked.files) == [str(tmp_path / "a.py"), "/x/b.py"]
    assert list(asked.tags) == ["money"]
    assert asked.pinned
    assert asked.redact
    assert not asked.interactive
    assert "an agent's word" in out
    assert "needs review" in out
    assert "Not pinned" in out


async def test_remember_as_json_says_whose_word_it_is(sidecar, command):
    sidecar.answers["remember"] = operator.RememberResponse(memory=memory(), redacted_count=2)
    _, out, _ = await command("remember", "x", "--json")
    told = json.loads(out)
    assert told["interactive"] is False
    assert told["redacted_count"] == 2
    assert told["memory"]["memory_id"] == "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    assert "2 secrets taken out of it." in told["notes"]


def at_a_terminal(*arguments, **environ):
    """Runs the command with a terminal at both ends: its exit code and every byte it wrote."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "seamark_sidecar", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", **environ},
    ) as process:
        os.close(theirs)
        written = b""
        # Linux reports the end of a terminal as an error.
        while chunk := _read(ours):
            written += chunk
        os.close(ours)
    return process.returncode, written.decode()


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


async def test_text_typed_at_a_terminal_counts_as_a_persons_word(sidecar):
    sidecar.answers["remember"] = operator.RememberResponse(memory=memory(content=HOSTILE))
    code, out = await asyncio.to_thread(at_a_terminal, "remember", "x")
    assert code == 0
    (asked,) = sidecar.asked
    assert asked.interactive
    assert "an agent's word" not in out
    # Colours are ours, the memory's own sequences are shown.
    assert "\x1b[" in out
    assert "\x1b]0;owned" not in out
    assert "\\x1b]0;owned" in out


async def test_no_color_is_honoured_at_a_terminal(sidecar):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory()])
    code, out = await asyncio.to_thread(at_a_terminal, "memories", NO_COLOR="1")
    assert code == 0
    assert "\x1b[3" not in out
    assert "Prices are in cents." in out


async def test_explain_shows_fates_releases_and_injections_in_sections(sidecar, command):
    answer = operator.ExplainSessionResponse(
        session_id="5e55",
        project_name="shop",
        state="pending",
        line="used 1 memory, learnt 1, held back 1",
        candidates=[
            operator.CandidateFate(
                signal="self_correction",
                type="gotcha",
                content="Fees are cached.",
                fate="promoted",
                reason="the tests passed",
                memory_id="abc",
            ),
            operator.CandidateFate(
                signal="error_retry",
                type="error_pattern",
                content="KeyError in tariff",
                fate="held",
                reason="seen in one session only",
                release="a second session, or a person's word",
            ),
        ],
        injections=[
            operator.InjectionRecord(
                point="prepare_step",
                step=3,
                memory_id="abc",
                label="gotcha: Fees are cached.",
                reason="harbor/tariff.py was touched",
            )
        ],
    )
    answer.start_time.FromJsonString("2026-01-02T03:04:05Z")
    sidecar.answers["explain"] = answer
    code, out, _ = await command("explain", "5e")
    assert code == 0
    assert sidecar.asked[0].session_id == "5e"
    assert out.splitlines() == [
        "Session 5e55 of shop: pending, started 2026-01-02 03:04 UTC",
        "used 1 memory, learnt 1, held back 1",
        "",
        "Candidates (2)",
        "  promoted  gotcha from self_correction  abc",
        "    Fees are cached.",
        "    why: the tests passed",
        "  held  error_pattern from error_retry",
        "    KeyError in tariff",
        "    why: seen in one session only",
        "    release: a second session, or a person's word",
        "",
        "Injected (1)",
        "  step 3  prepare_step  abc",
        "    gotcha: Fees are cached.",
        "    why: harbor/tariff.py was touched",
    ]
    _, out, _ = await command("explain", "--json")
    told = json.loads(out)
    assert [each["fate"] for each in told["candidates"]] == ["promoted", "held"]
    assert told["candidates"][1]["release"] == "a second session, or a person's word"
    assert told["injections"][0]["step"] == 3
    assert sidecar.asked[1].session_id == ""


async def test_an_empty_session_is_explained_too(sidecar, command):
    sidecar.answers["explain"] = operator.ExplainSessionResponse(session_id="s", state="open")
    _, out, _ = await command("explain")
    assert "The session proposed nothing." in out
    assert "No memory was shown to the agent." in out


@pytest.mark.parametrize(
    ("refusal", "reason", "sentence"),
    [
        (
            (grpc.StatusCode.NOT_FOUND, "no session begins with 5e", "UNKNOWN_SESSION"),
            "UNKNOWN_SESSION",
            "no session begins with 5e",
        ),
        (
            (grpc.StatusCode.FAILED_PRECONDITION, "update the SDK", "WIRE_TOO_OLD"),
            "WIRE_TOO_OLD",
            "update the SDK",
        ),
        ((grpc.StatusCode.INTERNAL, "it broke", ""), "INTERNAL", "the sidecar failed: it broke"),
        ((grpc.StatusCode.UNIMPLEMENTED, "", ""), "OTHER_VERSION", "another version"),
        ((grpc.StatusCode.UNAVAILABLE, "", ""), "SIDECAR_UNAVAILABLE", "seamark up"),
        ((grpc.StatusCode.DEADLINE_EXCEEDED, "", ""), "SIDECAR_TOO_SLOW", "seamark down --force"),
        ((grpc.StatusCode.NOT_FOUND, "a\x1b[2J\nb", "X"), "X", "a\\x1b[2J b"),
    ],
)
async def test_a_refusal_is_one_sentence_with_the_sidecars_reason(
    sidecar, command, refusal, reason, sentence
):
    sidecar.refusal = refusal
    code, out, err = await command("explain", "--json")
    assert code == 1
    assert json.loads(out)["error"]["reason"] == reason
    assert sentence in err
    assert err.count("\n") == 1
    assert is_tame(err)


async def test_a_socket_that_others_can_open_is_not_used(sidecar, command):
    set_mode(Path(sidecar.data_dir), 0o755)
    code, out, err = await command("status", "--json")
    assert code == 1
    assert json.loads(out)["error"]["reason"] == "SIDECAR_UNAVAILABLE"
    assert "open to other users" in err
    assert sidecar.asked == []


async def test_a_socket_nobody_listens_on_says_how_to_start_a_sidecar(
    sidecar, command, monkeypatch
):
    path = Path(sidecar.data_dir, "left.sock")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    set_mode(path, 0o600)
    monkeypatch.setenv("SEAMARK_ADDRESS", f"unix:{path}")
    code, _, err = await command("status")
    assert code == 1
    assert "start it: seamark up" in err


async def test_output_that_nobody_reads_ends_quietly(sidecar):
    many = [memory(memory_id=f"{number:032}") for number in range(1000)]
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=many)

    def into_a_closed_pipe(*arguments):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            return subprocess.run(
                [sys.executable, "-m", "seamark_sidecar", *arguments],
                stdout=out,
                stderr=subprocess.PIPE,
                check=False,
            )

    for arguments in (["memories"], ["memories", "--json"]):
        ended = await asyncio.to_thread(into_a_closed_pipe, *arguments)
        assert ended.returncode == 1
        assert ended.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
async def test_a_full_disk_is_one_sentence(sidecar):
    sidecar.answers["memories"] = operator.ListMemoriesResponse(memories=[memory()])

    def onto_a_full_disk(*arguments):
        with Path("/dev/full").open("wb") as out:
            return subprocess.run(
                [sys.executable, "-m", "seamark_sidecar", *arguments],
                stdout=out,
                stderr=subprocess.PIPE,
                check=False,
            )

    for arguments in (["memories"], ["memories", "--json"]):
        ended = await asyncio.to_thread(onto_a_full_disk, *arguments)
        assert ended.returncode == 1
        assert ended.stderr.count(b"\n") == 1
        assert b"No space left" in ended.stderr
