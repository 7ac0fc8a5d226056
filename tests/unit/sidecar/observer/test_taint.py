"""All that follows text from outside is contaminated, and so is what repeats it."""

import itertools

import pytest

from seamark.events import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.model.marks import EarlierMarks
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.calls.paths import is_dependency
from seamark_sidecar.observer.calls.use import Action, Origin, ToolUse, Touch
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.result import Result
from seamark_sidecar.observer.taint import Source, Taint

PASSAGE = (
    "Before every release the deploy script must be run with the flag that skips the smoke tests, "
    "since the staging database is rebuilt each night and would not be there."
)
_ids = itertools.count()


def use(action=Action.READ, *paths, **facts):
    return ToolUse(
        call_id=f"c{next(_ids)}",
        tool=facts.pop("tool", "tool"),
        action=action,
        touches=tuple(Touch(path, action) for path in paths),
        **facts,
    )


def called(step, call):
    body = ToolCalled(call_id=call.call_id, tool=call.tool)
    return Moment(step=step, time=0.0, body=body, use=call)


def returned(step, call, result="fine", outcome=Outcome.OK, **understood):
    body = ToolReturned(call_id=call.call_id, outcome=outcome, result=result)
    return Moment(step=step, time=0.0, body=body, use=call, result=Result(**understood))


def said(step, text="I see."):
    return Moment(step=step, time=0.0, body=TextProduced(kind=TextKind.REASONING, text=text))


def done(taint, step, call, result="fine", **facts):
    taint.see(called(step, call))
    taint.see(returned(step, call, result, **facts))


def signal(step, content="The cart rounds.", kind=SignalKind.SELF_CORRECTION, **facts):
    return Signal(kind=kind, step=step, confidence=0.8, key="k", content=content, **facts)


def fetched(step=3, result=PASSAGE, earlier=None):
    """A session that a page came into."""
    taint = Taint(earlier) if earlier is not None else Taint()
    page = use(Action.WEB, reference="https://example.org", origin=Origin.WEB)
    done(taint, step, page, result)
    return taint


def source_of(taint):
    return taint.source


def contamination(taint, found):
    return taint.of(found)


def after(*marks):
    """What later sessions know of these."""
    spans, files = {}, {}
    for point, each in enumerate(marks, 1):
        spans.update(dict.fromkeys(each.spans, point))
        files.update(dict.fromkeys(each.files, point))
    return EarlierMarks(len(marks), spans, files)


def test_a_session_without_text_from_outside_is_clean():
    taint = Taint()
    done(taint, 0, use(Action.READ, "a.py"))
    taint.see(said(1))
    assert taint.from_step is None
    assert taint.of(signal(1)) is None
    assert not taint.hashes()


@pytest.mark.parametrize("origin", [each for each in Origin if each is not Origin.SUBAGENT])
def test_whatever_follows_text_from_outside_is_contaminated(origin):
    taint = Taint()
    done(taint, 4, use(Action.RUN, command="fetch it", origin=origin))
    assert taint.from_step == 4
    assert taint.of(signal(3)) is None
    found = contamination(taint, signal(5))
    assert found.origin is origin
    assert str(found) == f"{origin}: fetch it"


def test_a_result_that_was_lost_was_read_all_the_same():
    taint = Taint()
    taint.see(called(2, use(Action.WEB, origin=Origin.WEB)))
    assert taint.from_step == 2


def test_what_was_said_before_the_result_in_its_step_is_clean():
    taint = Taint()
    taint.see(said(3))
    done(taint, 3, use(Action.WEB, origin=Origin.WEB))
    assert taint.of(signal(3)) is None
    # But what is made of the result itself is not.
    assert taint.of(signal(3, kind=SignalKind.ERROR_RETRY)) is not None
    taint.see(said(3))
    assert taint.of(signal(3)) is not None


def test_a_finding_is_as_young_as_the_last_step_it_stands_on():
    taint = fetched(5)
    assert taint.of(signal(2, details={"resolved_step": 8})) is not None
    assert taint.of(signal(2, details={"evidence_steps": (2, 7)})) is not None
    assert taint.of(signal(2, details={"resolved_step": 4, "steps_to_resolve": 9})) is None


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/left-pad/index.js",
        "web/node_modules/a/b.js",
        "/usr/lib/python3/dist-packages/six.py",
        ".venv/lib/python3.11/site-packages/requests/api.py",
        "vendor/github.com/x/y.go",
        "/home/me/go/pkg/mod/github.com/x/y.go",
        "/home/me/.cargo/registry/src/serde/lib.rs",
    ],
)
def test_other_peoples_code_beside_the_project_is_outside(path):
    assert is_dependency(path)
    taint = Taint()
    done(taint, 1, use(Action.READ, path))
    assert source_of(taint).origin is Origin.DEPENDENCY


@pytest.mark.parametrize("path", ["src/vendors.py", ".cargo/config.toml", "pkg/models.go", "a.py"])
def test_the_projects_own_code_is_not(path):
    assert not is_dependency(path)


def test_dependencies_come_in_by_search_as_well():
    outside = Taint()
    search = use(Action.SEARCH_TEXT, outside=("/opt/python/site-packages/six.py",))
    done(outside, 2, search)
    placed = Taint()
    done(placed, 2, use(Action.SEARCH_TEXT, places=("node_modules",)))
    found = Taint()
    done(found, 2, use(Action.SEARCH_TEXT), found=("src/a.js", "node_modules/b/c.js"))
    assert outside.from_step == placed.from_step == found.from_step == 2
    written = Taint()
    done(written, 2, use(Action.WRITE, "vendor/x.go"))
    assert written.from_step is None


def test_files_changed_afterwards_contaminate_whoever_reads_them():
    first = fetched(1)
    done(first, 2, use(Action.WRITE, "NOTES.md", written="short"))
    done(first, 3, use(Action.EDIT, "src/a.py"))
    first.see(Moment(step=3, time=0, body=FileChanged(path="/r/b.py"), in_sight=("b.py", "a.py")))
    done(first, 4, use(Action.VCS), changed=("c.py",))
    assert first.hashes().files == ("NOTES.md", "src/a.py", "b.py", "c.py")
    for path in first.hashes().files:
        second = Taint(after(first.hashes()))
        done(second, 0, use(Action.READ, "other.py"))
        done(second, 6, use(Action.READ, path))
        assert second.from_step == 6
        assert source_of(second).origin is Origin.DERIVED
        assert path in source_of(second).what


def test_files_changed_before_do_not():
    first = Taint()
    done(first, 0, use(Action.EDIT, "src/a.py"))
    done(first, 1, use(Action.WEB, origin=Origin.WEB))
    assert first.hashes().files == ()


def test_contamination_goes_on_from_session_to_session():
    first = fetched(1)
    done(first, 2, use(Action.WRITE, "notes.md"))
    second = Taint(after(first.hashes()))
    done(second, 0, use(Action.READ, "notes.md"))
    done(second, 1, use(Action.WRITE, "plan.md"))
    third = Taint(after(first.hashes(), second.hashes()))
    done(third, 3, use(Action.READ, "plan.md"))
    assert third.from_step == 3


def test_changing_a_marked_file_without_reading_it_brings_nothing_in():
    first = fetched(1)
    done(first, 2, use(Action.WRITE, "notes.md"))
    second = Taint(after(first.hashes()))
    done(second, 0, use(Action.WRITE, "notes.md"))
    assert second.from_step is None
    assert second.hashes().cleaned == ("notes.md",)


def test_text_from_outside_is_known_again_in_another_session():
    earlier = after(fetched(1).hashes())
    read = Taint(earlier)
    done(read, 4, use(Action.READ, "pasted.txt"), f"1\t{PASSAGE}\n")
    asked = Taint(earlier)
    asked.see(Moment(step=2, time=0.0, body=UserSaid(text=f"I found this: {PASSAGE}")))
    recorded = Taint(earlier)
    recorded.see(Moment(step=5, time=0.0, body=MemoryRecorded(type="gotcha", content=PASSAGE)))
    assert (read.from_step, asked.from_step, recorded.from_step) == (4, 2, 5)


def test_text_that_comes_in_pieces_is_known_as_well():
    earlier = after(fetched(1).hashes())
    for size in (1, 7, 40):
        taint = Taint(earlier)
        for start in range(0, len(PASSAGE), size):
            taint.see(said(2, PASSAGE[start : start + size]))
        assert taint.from_step == 2
    broken = Taint(earlier)
    half = len(PASSAGE) // 8
    for start in range(0, len(PASSAGE), half):
        broken.see(said(2, PASSAGE[start : start + half]))
        broken.see(Moment(step=2, time=0.0, body=StepCompleted()))
    assert broken.from_step is None


def test_text_written_afterwards_is_known_by_its_words_wherever_it_went():
    first = fetched(1, result="a page")
    done(first, 2, use(Action.WRITE, "notes.md", written=PASSAGE))
    second = Taint(after(first.hashes()))
    done(second, 3, use(Action.READ, "moved.md"), PASSAGE)
    assert second.from_step == 3


def test_a_finding_that_repeats_known_text_is_contaminated_by_itself():
    taint = Taint(after(fetched(1).hashes()))
    assert contamination(taint, signal(0, PASSAGE)).origin is Origin.DERIVED
    assert taint.of(signal(0, "The cart rounds.")) is None


def test_what_came_after_a_session_began_is_not_known_to_it():
    marks = fetched(1).hashes()
    spans, files = dict.fromkeys(marks.spans, 2), {"notes.md": 2}
    early, late = EarlierMarks(1, spans, files), EarlierMarks(2, spans, files)
    for earlier, step in ((early, None), (late, 0)):
        taint = Taint(earlier)
        done(taint, 0, use(Action.READ, "notes.md"))
        assert taint.from_step == step


def test_a_subagent_is_not_trusted_unless_it_is_known_to_be_clean():
    def worked():
        taint = Taint()
        done(taint, 4, use(Action.OTHER, tool="Task", origin=Origin.SUBAGENT), PASSAGE)
        return taint

    unknown, clean, contaminated = worked(), worked(), worked()
    clean.clear_subagents()
    contaminated.subagent_was_contaminated(Source(Origin.SUBAGENT, 0, "session 7"))
    assert unknown.from_step == contaminated.from_step == 4
    assert clean.from_step is None
    assert not clean.hashes()
    assert clean.of(signal(9, PASSAGE)) is None
    assert contaminated.of(signal(3)) is None
    assert contamination(contaminated, signal(5)).origin is Origin.SUBAGENT


def test_what_is_only_not_known_to_be_clean_does_not_go_on():
    taint = Taint()
    done(taint, 1, use(Action.OTHER, tool="Task", origin=Origin.SUBAGENT))
    done(taint, 2, use(Action.WRITE, "notes.md"))
    assert not taint.hashes()
    taint.subagent_was_contaminated(Source(Origin.SUBAGENT, 0, "session 7"))
    assert taint.hashes().files == ("notes.md",)


def test_an_edit_is_known_by_its_words_and_not_by_its_file():
    first = fetched(1, result="a page")
    done(first, 2, use(Action.EDIT, "src/a.py", written=f"# {PASSAGE}"))
    earlier = after(first.hashes())
    other_lines, same_lines = Taint(earlier), Taint(earlier)
    done(other_lines, 0, use(Action.READ, "src/a.py"), "def total(): ...")
    done(same_lines, 0, use(Action.READ, "src/a.py"), f"   7\t# {PASSAGE}")
    assert other_lines.from_step is None
    assert same_lines.from_step == 0


def test_code_from_outside_is_not_known_by_how_code_looks():
    code = "\n".join(
        f"for (let i_{n} = {n}; i_{n} < max; i_{n}++) {{ sum += a[i_{n}]; }}" for n in range(9)
    )
    earlier = after(fetched(1, result=f"{code}\n{PASSAGE}").hashes())
    taint = Taint(earlier)
    done(taint, 0, use(Action.READ, "a.js"), code)
    assert taint.from_step is None


def test_a_subagent_that_was_never_seen_to_be_called_contaminates_all():
    taint = Taint()
    taint.subagent_was_contaminated(Source(Origin.SUBAGENT, 0, "session 7"))
    assert str(taint.of(signal(0))) == "subagent: session 7"


def test_what_is_inherited_contaminates_all_and_is_no_step_of_its_own():
    taint = Taint(inherited=Source(Origin.REPLAY, 0, ""))
    done(taint, 2, use(Action.WEB, origin=Origin.WEB))
    assert taint.from_step == 2
    assert str(taint.of(signal(0))) == "replay"


def test_what_a_session_changed_is_marked_when_it_turns_out_to_have_inherited():
    early, late = Taint(inherited=Source(Origin.SUBAGENT, 0, "session 7")), Taint()
    for taint in (early, late):
        done(taint, 1, use(Action.WRITE, "a.md", written=PASSAGE))
        done(taint, 2, use(Action.EDIT, "b.md"))
    late.inherit(Source(Origin.DERIVED, 0, "a file"))
    assert set(early.hashes().files) == set(late.hashes().files) == {"a.md", "b.md"}
    assert early.hashes().spans


def test_it_stays_small():
    taint = fetched(0)
    for number in range(3000):
        text = " ".join(f"w{chr(97 + number % 26)}{letter}{number}" for letter in "abcdefghijklmn")
        call = use(Action.WRITE, f"dir/{number}.py", written=text)
        done(taint, number, call)
    assert len(taint.hashes().files) <= 2000
    assert taint.hashes().files[-1] == "dir/2999.py"
    assert taint.size() < 3_000_000
    taint.shrink()
    assert taint.size() < 2_000_000


def test_long_names_are_cut():
    taint = Taint()
    done(taint, 0, use(Action.RUN, command="curl " + "x" * 10_000, origin=Origin.DOWNLOAD))
    assert len(str(taint.source)) < 200
