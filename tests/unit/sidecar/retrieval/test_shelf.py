"""A project's memories at hand."""

import asyncio

import pytest

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.retrieval.shelf import Shelf
from seamark_sidecar.retrieval.shelves import Shelves
from tests.unit.sidecar.promotion.sample import memory

CENTS = memory("Prices are in cents.", "m_1", files=("src/cart.py",), tags=("money",))
TAX = memory("Tax is rounded last.", "m_2", files=("src/tax.py", "src/cart.py"), confidence=0.9)
PORT = memory("The port is 9090.", "m_3", type=MemoryType.DECISION)


@pytest.fixture
def shelf():
    return Shelf([CENTS, TAX, PORT])


def ids(found):
    return [each.memory.id for each in found]


def test_memories_of_a_file_come_surest_first(shelf):
    assert shelf.about("src/cart.py") == [TAX, CENTS]
    assert shelf.about("src/none.py") == []


def test_a_memory_is_found_by_its_content_its_files_and_its_tags(shelf):
    assert ids(shelf.search("cents")) == ["m_1"]
    assert ids(shelf.search("tax.py"))[0] == "m_2"
    assert ids(shelf.search("money")) == ["m_1"]
    assert ids(shelf.search("unrelated")) == []


def test_a_search_can_be_narrowed(shelf):
    query = "prices tax port"
    assert set(ids(shelf.search(query))) == {"m_1", "m_2", "m_3"}
    assert ids(shelf.search(query, types=["decision"])) == ["m_3"]
    assert set(ids(shelf.search(query, files=["src/cart.py"]))) == {"m_1", "m_2"}
    assert ids(shelf.search(query, types=["decision"], files=["src/cart.py"])) == []
    assert len(shelf.search(query, limit=1)) == 1


def test_confidence_counts(shelf):
    shelf.put(memory("Prices are in cents.", "m_9", confidence=0.3))
    assert ids(shelf.search("prices cents"))[-1] == "m_9"


def test_a_new_version_takes_the_place_of_the_old_one(shelf):
    shelf.put(memory("Prices are in euros.", "m_1", files=("src/money.py",)))
    assert len(shelf) == 3
    assert ids(shelf.search("cents")) == []
    assert ids(shelf.search("euros")) == ["m_1"]
    assert [each.id for each in shelf.about("src/cart.py")] == ["m_2"]
    assert [each.id for each in shelf.about("src/money.py")] == ["m_1"]


class SlowMemories:
    """A store that answers later, and counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    async def of_project(self, project_id):
        self.asked += 1
        await asyncio.sleep(0.01)
        return [CENTS] if project_id == "p" else []


async def test_a_shelf_is_filled_once_and_for_its_project_only():
    memories = SlowMemories()
    shelves = Shelves(memories)
    first, second, other = await asyncio.gather(
        shelves.of("p"), shelves.of("p"), shelves.of("another")
    )
    assert first is second
    assert memories.asked == 2
    assert (len(first), len(other)) == (1, 0)


async def test_what_is_stored_while_a_shelf_is_filled_is_on_it():
    shelves = Shelves(SlowMemories())
    filling = asyncio.create_task(shelves.of("p"))
    await shelves.put([TAX])
    assert {each.id for each in await filling} == {"m_1", "m_2"}
