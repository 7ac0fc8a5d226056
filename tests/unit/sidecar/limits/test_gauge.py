"""What the sidecar takes of the machine is measured, and not too often."""

import os
from dataclasses import dataclass

import psutil

from seamark_sidecar.limits import gauge
from seamark_sidecar.limits.gauge import Gauge


@dataclass
class Worker:
    name: str
    pid: int | None
    restarts: int = 0


async def test_the_sidecar_comes_first_then_its_workers(tmp_path):
    workers = [Worker("index", os.getppid(), 2), Worker("graph", None)]
    vitals = await Gauge(tmp_path, workers).read()
    facts = [(each.name, each.pid, each.restarts) for each in vitals.processes]
    assert facts == [("sidecar", os.getpid(), 0), ("index", os.getppid(), 2), ("graph", 0, 0)]
    own, index, graph = (each.resident for each in vitals.processes)
    assert own > 1_000_000
    assert index == psutil.Process(os.getppid()).memory_info().rss
    assert graph == 0


async def test_a_process_that_is_gone_takes_nothing(tmp_path):
    vitals = await Gauge(tmp_path, [Worker("index", 2**22 + 1)]).read()
    assert vitals.processes[1].resident == 0


async def test_files_count_with_what_belongs_to_them_and_links_are_not_followed(tmp_path):
    (tmp_path / "memory.db").write_bytes(b"x" * 8192)
    (tmp_path / "memory.db-wal").write_bytes(b"x" * 4096)
    (tmp_path / "index" / "deep").mkdir(parents=True)
    (tmp_path / "index" / "deep" / "points").write_bytes(b"x" * 4096)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "large").write_bytes(b"x" * 1_000_000)
    (tmp_path / "models").symlink_to(elsewhere)
    sizes = {each.name: each.size for each in (await Gauge(tmp_path, []).read()).files}
    assert sizes["memory.db"] == 12288
    assert sizes["index"] == 4096
    assert sizes["models"] < 8192
    assert (sizes["journal.db"], sizes["sidecar.log"]) == (0, 0)


async def test_room_that_is_only_promised_does_not_count(tmp_path):
    with (tmp_path / "journal.db").open("wb") as file:
        file.truncate(100_000_000)
    (_, journal, *_) = (await Gauge(tmp_path, []).read()).files
    assert journal.size < 1_000_000


async def test_asking_again_at_once_measures_nothing(tmp_path, monkeypatch):
    measuring = Gauge(tmp_path, [])
    first = await measuring.read()
    assert await measuring.read() is first
    monkeypatch.setattr(gauge, "GOOD_FOR", -1.0)
    assert await measuring.read() is not first
