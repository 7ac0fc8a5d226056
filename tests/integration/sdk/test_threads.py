"""A session may be shared by the threads of an agent."""

import threading

from seamark import UserSaid


def run_together(count, work):
    start = threading.Barrier(count)
    failures = []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_events_of_eight_threads_have_names_of_their_own(sidecar, client):
    session = client.start_session()

    def work(number):
        for each in range(500):
            session.observe(UserSaid(text=f"{number} {each}"))
            if each % 100 == 0:
                assert session.prepare_step(each).text == "[step]"

    run_together(8, work)
    assert client.flush(10)
    names = {
        event.sequence
        for request in sidecar.requests("Ingest")
        for batch in request.batches
        for event in batch.events
    }
    assert names == set(range(1, 4001))
    texts = {body.text for body in sidecar.bodies()}
    assert texts == {f"{number} {each}" for number in range(8) for each in range(500)}
    assert client.dropped == client.rejected == 0


def test_the_events_of_one_thread_keep_their_order(sidecar, client):
    session = client.start_session()

    def work(number):
        for each in range(200):
            session.observe(UserSaid(text=f"{number} {each}"))

    run_together(4, work)
    assert client.flush(10)
    for number in range(4):
        mine = [body.text for body in sidecar.bodies() if body.text.startswith(f"{number} ")]
        assert mine == [f"{number} {each}" for each in range(200)]


def test_sessions_begun_and_ended_in_many_threads_do_not_mix(sidecar, client):
    sessions = []

    def work(number):
        for each in range(5):
            session = client.start_session()
            sessions.append((session.id, f"{number} {each}"))
            session.observe(UserSaid(text=f"{number} {each}"))
            session.complete()

    run_together(8, work)
    assert len(sessions) == 40
    for session_id, text in sessions:
        assert sidecar.bodies(session_id) == [UserSaid(text=text)]
    assert client.why_without_memory == ""


def test_a_full_buffer_loses_nothing_uncounted_in_many_threads(sidecar):
    client = sidecar.client(buffer=50, session_start_deadline=10.0)
    session = client.start_session()

    def work(number):
        for each in range(1000):
            session.observe(UserSaid(text=str(each)))

    run_together(8, work)
    client.close(10)
    assert len(sidecar.bodies()) + client.dropped == 8000
    assert session.dropped == client.dropped
