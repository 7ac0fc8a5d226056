"""Decisions for live sessions, and the account of them."""

from seamark_sidecar.injection.injector import DEFAULT_LIMIT, MOST_HITS, Injector
from seamark_sidecar.model.shown import Point
from seamark_sidecar.retrieval.shelves import Shelves
from tests.unit.sidecar.promotion.sample import NOON, memory, session

from .test_decide import Seen, about


class Account:
    """Keeps in memory what the record keeps on disk."""

    def __init__(self):
        self.notes = {}

    def note_shown(self, session_id, shown, now):
        self.notes.setdefault(session_id, []).extend(shown)

    async def shown(self, session_id):
        return list(self.notes.get(session_id, ()))

    async def taught_count(self, project_id):
        return 3

    async def touched_files(self, project_id):
        return {"a.py": 3}


class Memories:
    def __init__(self, *memories):
        self.memories = memories

    async def of_project(self, project_id):
        return [each for each in self.memories if each.project_id == project_id]


def injector(account, *memories):
    return Injector(Shelves(Memories(*memories)), account, lambda: NOON)


async def test_each_decision_is_noted_once_and_in_order():
    account = Account()
    made = injector(account, about(number=1, pinned=True), about(number=2), about(number=3))
    await made.at_start(session())
    await made.before_step(session(), Seen(), 5)
    await made.before_step(session(), Seen(), 6)
    noted = [(each.point, each.step, each.memory_id) for each in account.notes["s1"]]
    assert noted == [
        (Point.SESSION_START, 0, "m_000000000001"),
        (Point.PREPARE_STEP, 5, "m_000000000002"),
        (Point.PREPARE_STEP, 5, "m_000000000003"),
    ]
    assert [each.memory_id for each in await made.used(session())] == [each[2] for each in noted]


async def test_sessions_have_ledgers_of_their_own():
    made = injector(Account(), about())
    assert await made.before_step(session("one"), Seen(), 5)
    assert await made.before_step(session("two"), Seen(), 5)


async def test_a_new_process_shows_the_same_block_and_nothing_twice():
    account = Account()
    memories = (about(number=1), about(number=2, pinned=True))
    before = injector(account, *memories)
    start, _ = await before.at_start(session())
    block = await before.before_step(session(), Seen(), 5)
    after = injector(account, *memories)
    assert (await after.at_start(session()))[0].citations == start.citations
    assert (await after.before_step(session(), Seen(), 6)).citations == block.citations
    assert not await after.after_tool(session(), Seen(), "c1", 6)
    assert len(account.notes["s1"]) == 2


async def test_a_forgotten_ledger_is_read_from_the_account():
    account = Account()
    made = injector(account, about())
    await made.before_step(session(), Seen(), 5)
    made.forget("s1")
    assert [each.memory_id for each in await made.used(session())] == ["m_000000000001"]


async def test_a_search_marks_what_was_shown_and_counts_as_shown():
    made = injector(Account(), about(number=1), about(number=2, path="b.py"))
    await made.before_step(session(), Seen(), 5)
    found = await made.search(session(), "fact number", types=(), files=(), limit=0, step=6)
    assert {each.memory_id: each.shown for each in found.hits} == {
        "m_000000000001": True,
        "m_000000000002": False,
    }
    assert not await made.after_tool(session(), Seen(files=("b.py",)), "c1", 6)


async def test_a_search_has_a_default_and_a_most():
    made = injector(Account(), *(memory(f"fact {n}", f"m_{n:012x}") for n in range(MOST_HITS + 20)))

    async def count(limit):
        found = await made.search(session(), "fact", types=(), files=(), limit=limit, step=1)
        return len(found.hits)

    assert [await count(0), await count(3), await count(10_000)] == [DEFAULT_LIMIT, 3, MOST_HITS]
