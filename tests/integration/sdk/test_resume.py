"""A session goes on in another process, with its ticket and nothing else."""

import logging

from seamark import Client, SessionState, Settings, UserSaid

GOES_ON = """
client = Client()
session = client.resume_session(sys.argv[1])
session.observe(UserSaid(text="there"))
assert client.flush(10)
print(session.id, session.prepare_step(1).text, session.start.system.text)
"""


def test_a_ticket_is_enough_to_go_on_in_another_process(sidecar, client, agent):
    session = client.start_session(project_path="/p", role="coder")
    session.observe(UserSaid(text="here"))
    assert client.flush(5)
    done = agent(GOES_ON, session.ticket)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [session.id, "[step]", "[system]"]
    assert sorted(body.text for body in sidecar.bodies(session.id)) == ["here", "there"]
    first, second = sidecar.requests("StartSession")
    assert first.claim == second.claim
    assert first.project == second.project
    producers = {each.batches[0].producer_id for each in sidecar.requests("Ingest")}
    assert len(producers) == 2
    assert session.complete().state is SessionState.PENDING


def test_resuming_does_not_wait_and_does_not_ask(sidecar, client):
    ticket = client.start_session().ticket
    sidecar.stop()
    session = client.resume_session(ticket)
    assert session.ticket == ticket
    sidecar.start()


def test_an_ended_session_can_be_validated_from_its_ticket(sidecar, client):
    session = client.start_session()
    session.complete()
    resumed = client.resume_session(session.ticket)
    assert resumed.report_validation(True).state is SessionState.CLOSED
    assert sidecar.requests("ReportValidation")[0].session_id == session.id


def test_a_resumed_session_can_search_at_once(sidecar, client):
    resumed = client.resume_session(client.start_session().ticket)
    assert resumed.search("q").text == "Nothing is known about this."


def test_garbage_for_a_ticket_is_a_warning_and_a_session_of_its_own(sidecar, client, caplog):
    for garbage in ("", "garbage", "Zm9v", "ünï", None, 5):
        session = client.resume_session(garbage)
        session.observe(UserSaid(text="1"))
        assert session.id
    assert client.flush(5)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1
    assert "not a session's ticket" in told[0]
    assert len(sidecar.bodies()) == 6


def test_a_ticket_of_a_session_that_began_without_a_sidecar_starts_it(sidecar, client, tmp_path):
    away = Client(Settings(address=f"unix:{tmp_path}/away.sock"))
    ticket = away.start_session(project_path="/p").ticket
    away.close(0)
    session = client.resume_session(ticket)
    session.observe(UserSaid(text="1"))
    assert client.flush(5)
    assert sidecar.requests("StartSession")[0].project.path == "/p"
    assert sidecar.bodies(session.id) == [UserSaid(text="1")]
