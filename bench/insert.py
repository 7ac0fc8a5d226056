"""How many memories a second can be stored, until they are found.

10,000 memories through `OperatorService.Remember`, 64 calls in flight, in a new data directory:
first without a model, then with one. The clock stops when the index has followed the record to the
last of them; some are then searched for by their own words, and must be found. Beside it, what each
is bound by: unary gRPC echoes of the same bytes, also 64 in flight; texts a second of the embedder
alone, one thread.

Bar: ≥ 1,000 a second without a model, ≥ 100 with one. Then the memory (RSS) of the sidecar and its
index worker, with all memories and the model loaded: ≤ 800 MB.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import grpc
import grpc.aio

from bench import echo
from bench.measure import resident_bytes
from bench.memories import IN_FLIGHT, PROJECT, STORED_WITHIN, Lesson, lessons, remember
from bench.model import model_dir
from bench.report import Bar, Report, Row, at_least, at_most, conclude, parser, say
from bench.sidecar import METADATA, Sidecar, SidecarFailed
from seamark.wire.v1 import operator_pb2, operator_pb2_grpc, sidecar_pb2
from seamark_sidecar.models.runner import EmbeddingRunner

MEMORIES = 10_000
PLAIN_BAR = at_least(1_000)
EMBEDDED_BAR = at_least(100)
RESIDENT_BAR = at_most(800)  # megabytes

ECHOES = 5_000
ANSWER_BYTES = 300  # about what an answer to Remember has
EMBEDDED_ALONE = 500
SEARCHED_FOR = 50
INDEXED_WITHIN = 900.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How fast memories went in."""

    # A second.
    acknowledged: float
    findable: float
    # Of the sidecar and its worker, afterwards.
    resident: int


def run(memories: int = MEMORIES) -> Report:
    """Measures both, each with what it is bound by."""
    taught = lessons(memories)
    say(f"storing {memories:,} memories without a model")
    with Sidecar() as sidecar, echo.serving(sidecar.directory) as address:
        plain = _stored(sidecar, taught)
        echoes = asyncio.run(_echoes(address, taught[0]))
    say(f"storing and embedding {memories:,} memories")
    with Sidecar(with_model=True) as sidecar:
        embedded = _stored(sidecar, taught)
    alone = _embedded_alone(taught[:EMBEDDED_ALONE])
    return Report(
        name="insert",
        counts=f"{memories:,} memories in each case, {IN_FLIGHT} calls in flight",
        rows=(
            *_rows("without a model", plain, "echoes", echoes, PLAIN_BAR),
            *_rows("with a model", embedded, "embedder alone", alone, EMBEDDED_BAR),
            Row(
                figure=f"RSS with {memories:,} memories, no model",
                value=plain.resident / 1e6,
                unit="MB",
            ),
            Row(
                figure=f"RSS with {memories:,} memories and the model",
                value=embedded.resident / 1e6,
                unit="MB",
                bar=RESIDENT_BAR,
            ),
        ),
        notes=(
            f"{SEARCHED_FOR} memories of each case, taken at random, were searched for and found. "
            "The calls are made by one process on the same machine.",
        ),
    )


def _stored(sidecar: Sidecar, taught: Sequence[Lesson]) -> Stored:
    began = time.perf_counter()
    ids = remember(sidecar.address, taught)
    acknowledged = time.perf_counter() - began
    sidecar.await_index(len(taught), INDEXED_WITHIN)
    findable = time.perf_counter() - began
    _search_for(sidecar.address, taught, ids)
    return Stored(
        acknowledged=len(taught) / acknowledged,
        findable=len(taught) / findable,
        resident=resident_bytes(sidecar.pid),
    )


def _search_for(address: str, taught: Sequence[Lesson], ids: Sequence[str]) -> None:
    """Raises SidecarFailed when one of a few cannot be found by its own words."""
    places = random.Random(1).sample(range(len(taught)), min(SEARCHED_FOR, len(taught)))
    with grpc.insecure_channel(address) as channel:
        stub = operator_pb2_grpc.OperatorServiceStub(channel)
        for place in places:
            request = operator_pb2.FindMemoriesRequest(
                project=sidecar_pb2.ProjectHint(name=PROJECT),
                query=taught[place].content,
                limit=10,
            )
            found = stub.FindMemories(request, timeout=STORED_WITHIN, metadata=METADATA)
            if ids[place] not in {hit.memory_id for hit in found.hits}:
                raise SidecarFailed(f"this cannot be found: {taught[place].content}")


async def _echoes(address: str, lesson: Lesson) -> float:
    """Echoes a second of what a call carries."""
    size = operator_pb2.RememberRequest(
        project=sidecar_pb2.ProjectHint(name=PROJECT),
        type=lesson.type,
        content=lesson.content,
        files=[lesson.file],
        interactive=True,
    ).ByteSize()
    asked = echo.request(size, ANSWER_BYTES)
    left = iter(range(ECHOES))
    async with grpc.aio.insecure_channel(address) as channel:
        ask: Callable[..., Awaitable[bytes]] = channel.unary_unary(echo.PATH)
        await ask(asked, timeout=STORED_WITHIN)

        async def work() -> None:
            for _ in left:
                await ask(asked, timeout=STORED_WITHIN, metadata=METADATA)

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(work())
        return ECHOES / (time.perf_counter() - began)


def _embedded_alone(taught: Sequence[Lesson]) -> float:
    """Texts a second of the embedder, with nothing around it."""
    runner = EmbeddingRunner.load(model_dir(), threads=1)
    texts = [lesson.content for lesson in taught]
    runner.embed(texts[:1])
    began = time.perf_counter()
    runner.embed(texts)
    return len(texts) / (time.perf_counter() - began)


def _rows(case: str, stored: Stored, peer: str, peer_value: float, bar: Bar) -> list[Row]:
    return [
        Row(
            figure=f"memories, findable, {case}",
            value=stored.findable,
            unit="/s",
            peer=peer,
            peer_value=peer_value,
            bar=bar,
        ),
        Row(figure=f"memories, acknowledged, {case}", value=stored.acknowledged, unit="/s"),
    ]


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--memories", type=int, default=MEMORIES, help="in each case")
    chosen = options.parse_args()
    return conclude(run(chosen.memories), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
