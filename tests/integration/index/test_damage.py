"""An index that was damaged, or is somebody else's, is built anew from the record."""

import asyncio
import json
import os
import shutil
import uuid
from pathlib import Path

import pytest
import qdrant_edge as edge

from seamark_sidecar.model.memory import memory_number
from tests.integration.index.desk import desk_at, embedded, install

COUNT = 40


def rewritten(meta_path, **changes):
    meta_path.write_text(json.dumps(json.loads(meta_path.read_text()) | changes))


def with_shard(work):
    def damage(index):
        shard = edge.EdgeShard.load(str(index))
        shard.update(work)
        shard.flush()
        shard.close()

    return damage


def each_file(pattern, work):
    def damage(index):
        found = list(index.glob(pattern))
        assert found, f"the engine has no {pattern} any more"
        for path in found:
            work(path)

    return damage


def emptied(pattern):
    return each_file(pattern, lambda path: path.write_bytes(b""))


def removed(pattern):
    return each_file(pattern, Path.unlink)


def cut(pattern):
    return each_file(pattern, lambda path: os.truncate(path, 500))


def zeroed(pattern):
    """The same size, all zero."""

    def zero(path):
        size = path.stat().st_size
        os.truncate(path, 0)
        os.truncate(path, size)

    return each_file(pattern, zero)


def foreign_shard(index):
    """A shard of another shape, at home in another program, under our name."""
    shutil.rmtree(index)
    index.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=3, distance=edge.Distance.Dot))
    shard = edge.EdgeShard.create(str(index), config)
    points = [edge.Point(uuid.uuid4(), [1.0, 0.0, 0.0], {"theirs": 1}) for _ in range(COUNT)]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.close()


def foreign_files(index):
    shutil.rmtree(index)
    index.mkdir()
    (index / "notes.txt").write_text("not an index")
    (index / "wal").symlink_to("/")


def an_empty_directory(index):
    shutil.rmtree(index)
    index.mkdir()


def a_file(index):
    shutil.rmtree(index)
    index.write_text("not a directory")


DAMAGES = {
    "a point too few": with_shard(edge.UpdateOperation.delete_points([7])),
    "a point too many": with_shard(
        edge.UpdateOperation.upsert_points([edge.Point(10**6, {}, {"seq": 3})])
    ),
    "one point exchanged for another": lambda index: [
        with_shard(edge.UpdateOperation.delete_points([7]))(index),
        with_shard(edge.UpdateOperation.upsert_points([edge.Point(10**6, {}, {"seq": 7})]))(index),
    ],
    "an older version of a point": with_shard(
        edge.UpdateOperation.set_payload([7], {"seq": 1_000_000})
    ),
    "a point without its payload": with_shard(edge.UpdateOperation.clear_payload([7])),
    "a point without its vector": with_shard(edge.UpdateOperation.delete_vectors([7], ["dense"])),
    "id tracker emptied": emptied("segments/*/mutable_id_tracker.mappings"),
    "vectors zeroed": zeroed("segments/*/vector_storage-dense/vectors/chunk_0.mmap"),
    "vectors cut": cut("segments/*/vector_storage-dense/vectors/chunk_0.mmap"),
    "vectors' status emptied": emptied("segments/*/vector_storage-dense/vectors/status.dat"),
    "words zeroed": zeroed("segments/*/vector_storage-words/store/page_0.dat"),
    "payload zeroed": zeroed("segments/*/payload_storage/page_0.dat"),
    "segment description emptied": emptied("segments/*/segment.json"),
    "segments removed": lambda index: shutil.rmtree(index / "segments"),
    "log zeroed": zeroed("wal/open-*"),
    "configuration removed": removed("edge_config.json"),
    "directory removed": shutil.rmtree,
    "directory emptied": an_empty_directory,
    "directory is a file": a_file,
    "somebody else's files": foreign_files,
    "somebody else's shard": foreign_shard,
    "meta removed": lambda index: index.with_suffix(".json").unlink(),
    "meta garbled": lambda index: index.with_suffix(".json").write_bytes(b'{"applied": "x"}'),
    "meta of another model": lambda index: rewritten(index.with_suffix(".json"), model="m0"),
    "meta of another size": lambda index: rewritten(index.with_suffix(".json"), dimensions=7),
    "meta of another layout": lambda index: rewritten(index.with_suffix(".json"), layout=99),
    "meta newer than the record": lambda index: rewritten(index.with_suffix(".json"), applied=999),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A data directory with an index that each test damages and leaves repaired."""
    path = tmp_path_factory.mktemp("data")
    install(path, "m1")

    async def fill():
        async with desk_at(path) as desk:
            await desk.put_many(COUNT)
            await desk.caught_up()

    asyncio.run(fill())
    return path


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
async def test_damage_is_noticed_and_repaired_without_embedding_again(filled, damage):
    damage(filled / "index")
    async with desk_at(filled) as desk:
        await desk.caught_up()
        await desk.assert_equals_record()
        by_vector, by_words = await desk.found("memory number 7")
        assert len(by_vector) == len(by_words) == COUNT
        assert memory_number(by_words[0]) == 7
    assert len(embedded(filled)) == COUNT


async def test_an_index_that_is_well_is_not_built_anew(data_dir):
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
    inode = (data_dir / "index").stat().st_ino
    for _ in range(2):
        async with desk_at(data_dir) as desk:
            await desk.caught_up()
            assert (await desk.indexer.progress()).rebuilds == 0
    assert (data_dir / "index").stat().st_ino == inode


async def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(data_dir, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
    (data_dir / "index").rename(elsewhere)
    (data_dir / "index").symlink_to(elsewhere)
    before = sorted(path.relative_to(elsewhere) for path in elsewhere.rglob("*"))
    async with desk_at(data_dir) as desk:
        await desk.caught_up()
        await desk.assert_equals_record()
    assert not (data_dir / "index").is_symlink()
    assert sorted(path.relative_to(elsewhere) for path in elsewhere.rglob("*")) == before


async def test_what_a_link_inside_leads_to_is_left_alone(data_dir, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
    shutil.rmtree(data_dir / "index" / "segments")
    (data_dir / "index" / "segments").symlink_to(precious)
    async with desk_at(data_dir) as desk:
        await desk.caught_up()
        await desk.assert_equals_record()
    assert (precious / "file").read_text() == "mine"


async def test_a_record_that_was_put_back_to_an_older_state_is_followed(data_dir, tmp_path):
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
    shutil.copy(data_dir / "memory.db", tmp_path / "backup.db")
    async with desk_at(data_dir) as desk:
        await desk.put_many(10, first=1000)
        await desk.caught_up()
    shutil.copy(tmp_path / "backup.db", data_dir / "memory.db")
    async with desk_at(data_dir) as desk:
        await desk.put_many(20, first=2000)
        await desk.caught_up()
        await desk.assert_equals_record()


async def test_damage_under_a_running_worker_is_noticed_when_it_shows(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    await desk.indexer.close()
    cut("segments/*/vector_storage-dense/vectors/chunk_0.mmap")(desk.data_dir / "index")
    await desk.kill_worker()
    await desk.caught_up()
    await desk.assert_equals_record()
