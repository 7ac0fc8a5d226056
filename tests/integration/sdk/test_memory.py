"""The SDK keeps nothing alive that its app has let go of."""

import gc
import threading
import weakref

import pytest

from seamark import Client, Settings, UserSaid
from seamark import outbox as outboxes
from tests.integration.sdk.conftest import PATIENT, undelivered


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(outboxes, "POLL", 0.002)
    monkeypatch.setattr(outboxes, "LONGEST_IDLE", 0.02)


def is_gone(reference):
    gc.collect()
    return reference() is None


def test_a_session_that_the_app_drops_is_collected(sidecar, client, eventually):
    session = client.start_session()
    for number in range(300):
        session.observe(UserSaid(text=str(number)))
    session.prepare_step(1)
    session.complete()
    assert client.flush(5)
    watched = weakref.ref(session)
    del session
    assert eventually(lambda: is_gone(watched))
    assert len(client._sessions) == 0


def test_a_session_lives_until_its_events_are_delivered(sidecar, client, eventually):
    session = client.start_session()
    with undelivered(sidecar):
        session.observe(UserSaid(text="last words"))
        watched = weakref.ref(session)
        del session
        gc.collect()
        assert watched() is not None
    assert eventually(lambda: is_gone(watched))
    assert sidecar.bodies() == [UserSaid(text="last words")]


def test_after_closing_nothing_is_kept(sidecar, tmp_path, eventually):
    for address in (sidecar.address, f"unix:{tmp_path}/away.sock"):
        client = Client(Settings(address=address, **PATIENT | {"close_deadline": 0.05}))
        session = client.start_session()
        body = UserSaid(text="1")
        session.observe(body)
        session.complete()
        client.close()
        # Slotted bodies have no weak references: look for whoever holds one instead.
        holders = [each for each in gc.get_referrers(body) if isinstance(each, tuple)]
        assert holders == []
        watched = [weakref.ref(session), weakref.ref(client), weakref.ref(client.outbox)]
        del session, client, holders
        for each in watched:
            assert eventually(lambda each=each: is_gone(each))


def test_senders_of_closed_clients_end(sidecar):
    before = set(threading.enumerate())
    clients = [sidecar.client(**PATIENT) for _ in range(10)]
    for client in clients:
        client.start_session().observe(UserSaid(text="1"))
    for client in clients:
        client.close()
    names = [each.name for each in threading.enumerate() if each not in before]
    assert "seamark-sender" not in names
    assert len(sidecar.bodies()) == 10


def test_clients_that_were_never_closed_are_collected_when_they_fall_silent(
    sidecar, impatient, eventually
):
    clients = [sidecar.client(**PATIENT) for _ in range(10)]
    for client in clients:
        client.start_session().observe(UserSaid(text="1"))
    watched = [weakref.ref(client) for client in clients]
    del clients, client
    assert eventually(lambda: all(is_gone(each) for each in watched))
    assert len(sidecar.bodies()) == 10


def test_a_forgotten_client_with_undelivered_events_is_not_collected(
    sidecar, impatient, eventually
):
    client = sidecar.client(**PATIENT)
    session = client.start_session()
    sidecar.stop()
    session.observe(UserSaid(text="last words"))
    watched = weakref.ref(client)
    del client, session
    threading.Event().wait(0.1)
    assert not is_gone(watched)
    sidecar.start()
    assert eventually(lambda: is_gone(watched))
    assert sidecar.bodies() == [UserSaid(text="last words")]
