"""A ticket is all that is needed to go on with a session, and nothing else passes for one."""

import base64
import json

import pytest

from seamark.errors import UndecodableMessage
from seamark.session import Ticket, Work


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def test_what_was_packed_is_unpacked():
    ticket = Ticket.new(
        project_path="/päth/日本", project_name="n", session_type="build", role="coder"
    )
    assert Ticket.unpack(ticket.pack()) == ticket


def test_two_tickets_never_share_a_session_or_a_secret():
    tickets = [
        Ticket.new(project_path="/", project_name="", session_type="", role="") for _ in range(100)
    ]
    assert len({ticket.session_id for ticket in tickets}) == 100
    assert len({ticket.claim for ticket in tickets}) == 100


def test_a_path_that_is_no_text_survives_the_ticket():
    ticket = Ticket.new(project_path="/\udcff", project_name="", session_type="", role="")
    assert Ticket.unpack(ticket.pack()) == ticket


GOOD = ["0123456789abcdef", "00" * 16, "/p", "", "build", ""]


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "garbage",
        "ünïcödé",
        "\udcff",
        "Zm9v",
        None,
        17,
        b"bytes",
        packed(None),
        packed(5),
        packed("text"),
        packed([]),
        packed({}),
        packed(GOOD[:-1]),
        packed([*GOOD, "more"]),
        packed([7, *GOOD[1:]]),
        packed([*GOOD[:1], "no hex", *GOOD[2:]]),
        packed([*GOOD[:1], 16, *GOOD[2:]]),
        packed([*GOOD[:5], None]),
        packed(["\ud800" * 16, *GOOD[1:]]),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_garbage_is_an_undecodable_message_and_nothing_else(garbage):
    with pytest.raises(UndecodableMessage, match="not a session's ticket"):
        Ticket.unpack(garbage)


def test_a_good_ticket_is_not_garbage():
    assert Ticket.unpack(packed(GOOD)).session_id == GOOD[0]


def test_a_ticket_knows_what_the_session_is_a_part_of():
    work = Work(group="g", parent_session="p", methodology="tdd", phase="red", work_unit="a/b")
    ticket = Ticket.new(project_path="/", project_name="", session_type="", role="", work=work)
    assert Ticket.unpack(ticket.pack()).work == work


def test_a_session_that_is_part_of_nothing_has_a_ticket_that_every_version_reads():
    ticket = Ticket.new(project_path="/", project_name="", session_type="", role="")
    assert len(json.loads(base64.urlsafe_b64decode(ticket.pack()))) == len(GOOD)


@pytest.mark.parametrize("work", [["g"], ["g", "p", "m", "f", "u", "more"], ["g", "", "", "", 7]])
def test_a_place_in_the_work_that_makes_no_sense_is_garbage(work):
    with pytest.raises(UndecodableMessage, match="not a session's ticket"):
        Ticket.unpack(packed([*GOOD, *work]))
