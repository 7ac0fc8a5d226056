"""What a search over 10,000 memories takes, beside two peers with the same embedder.

One project, its memories stored through `OperatorService.Remember` and embedded by the sidecar.
Questions of a few words and identifiers, eight answers each, in two ways: `session.search` of the
SDK, ten to a session, and `OperatorService.FindMemories`.

1. CPU: user and system time of this process, the sidecar and its index worker over all questions.
   Peers in an environment of their own, with the same vectors and the same embedder (one thread):
   LangGraph's `InMemoryStore` with an index, and mem0 with its local Qdrant, in memory, `search`
   alone. Both rank by vector only: mem0's optional keyword parts are not installed.
   Bar: each peer takes at least 20 times as much.
2. Time on the clock, in turn with one embedding of the same question in this process and one unary
   gRPC echo of the same bytes. Bar: p50 ≤ 2.5 × the two together.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from bench import echo, peers
from bench.measure import ProcessFailed, cpu_seconds, resident_bytes, spread
from bench.memories import PROJECT, lessons, questions, remember
from bench.model import model_dir
from bench.report import Report, Row, conclude, parser, say, times_less, times_peer
from bench.sidecar import INDEX_NOT_ASKED, METADATA, Sidecar, SidecarFailed, clean_environment
from bench.vectors import vectors
from seamark import Client, SearchResult, Session
from seamark.codec import hit_to_wire
from seamark.link import OPTIONS
from seamark.wire.v1 import events_pb2, operator_pb2, operator_pb2_grpc, sidecar_pb2
from seamark_sidecar.models.runner import EmbeddingRunner

MEMORIES = 10_000
QUERIES = 400
PEER_QUERIES = 50
LIMIT = 8
CPU_BAR = times_less(20.0)
WALL_BAR = times_peer(2.5)

QUERIES_A_SESSION = 10
WARM_UP = 20
DEADLINE = 5.0  # seconds
INDEXED_WITHIN = 600.0
_ROOT = Path(__file__).resolve().parent.parent
_PEERS_ENVIRONMENT = _ROOT / ".venv-peers"
_CAPABILITY_BYTES = 32  # as the sidecar hands them out


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One way of searching, ready to be measured."""

    name: str
    # The texts that were found for a question, by id.
    find: Callable[[str], Sequence[str]]
    # Bytes of the request, and of the answer to it.
    sizes: Callable[[str], tuple[int, int]]


@dataclass(slots=True, kw_only=True)
class Cost:
    """What a way of searching takes."""

    # Seconds of CPU for a question.
    client: float = 0.0
    sidecar: float = 0.0
    worker: float = 0.0
    # Seconds on the clock, one of each for every question.
    wall: list[float] = field(default_factory=list)
    embedding: list[float] = field(default_factory=list)
    echo: list[float] = field(default_factory=list)
    found: list[Sequence[str]] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """Of all processes."""
        return self.client + self.sidecar + self.worker

    @property
    def floor(self) -> list[float]:
        """One embedding and one echo, in the same moments."""
        return [one + other for one, other in zip(self.embedding, self.echo, strict=True)]


def run(
    memories: int = MEMORIES, queries: int = QUERIES, peer_queries: int = PEER_QUERIES
) -> Report:
    """Measures ourselves, then the peers."""
    taught, asked = lessons(memories), questions(queries)
    with Sidecar(with_model=True) as sidecar, echo.serving(sidecar.directory) as address:
        say(f"storing and embedding {memories:,} memories")
        ids = remember(sidecar.address, taught)
        sidecar.await_index(memories, INDEXED_WITHIN)
        client = sidecar.client(tool_deadline=DEADLINE, session_start_deadline=DEADLINE)
        say(f"searching, {queries:,} questions in two ways")
        with grpc.insecure_channel(sidecar.address, options=OPTIONS) as channel:
            costs = {
                way.name: _cost(way, sidecar, address, asked)
                for way in (_by_session(client, queries), _by_operator(channel))
            }
        client.close()
        resident = resident_bytes(sidecar.pid)
        order = peers.Order(
            texts=[lesson.content for lesson in taught],
            queries=asked[:peer_queries],
            limit=LIMIT,
            model_dir=str(model_dir()),
        )
        made = vectors(sidecar.data_dir, ids)
    say(f"the peers, {peer_queries:,} of the questions")
    others, reason = _peers(order, made)
    rows = [row for name, cost in costs.items() for row in _rows(name, cost, others)]
    return Report(
        name="search",
        counts=(
            f"{memories:,} memories, {queries:,} questions in each way, {LIMIT} answers; "
            f"{peer_queries:,} of the questions for each peer"
        ),
        rows=(
            *rows,
            *_peer_rows(others),
            Row(figure="RSS of sidecar and index worker", value=resident / 1e6, unit="MB"),
        ),
        notes=(*_notes(costs, others, ids), *([reason] if reason else [])),
    )


def _by_session(client: Client, queries: int) -> Asked:
    """As an agent searches: in sessions, each of which asks a few times."""
    # Begun beforehand: what that takes is not asked here.
    begun = [
        client.start_session(project_name=PROJECT)
        for _ in range(0, WARM_UP + 2 * queries, QUERIES_A_SESSION)
    ]
    turns: Iterator[Session] = itertools.chain.from_iterable(
        itertools.repeat(session, QUERIES_A_SESSION) for session in begun
    )
    answers: dict[str, SearchResult] = {}

    def find(query: str) -> Sequence[str]:
        found = next(turns).search(query, limit=LIMIT)
        answers[query] = found
        return [hit.memory_id for hit in found.hits]

    def sizes(query: str) -> tuple[int, int]:
        batch = events_pb2.EventBatch(
            session_id=begun[0].id,
            producer_id=begun[0].producer_id,
            capability=bytes(_CAPABILITY_BYTES),
        )
        asked = sidecar_pb2.SearchRequest(events=batch, query=query, limit=LIMIT)
        found = answers[query]
        answer = sidecar_pb2.SearchResponse(
            hits=[hit_to_wire(hit) for hit in found.hits], text=found.text
        )
        return asked.ByteSize(), answer.ByteSize()

    return Asked(name="session.search", find=find, sizes=sizes)


def _by_operator(channel: grpc.Channel) -> Asked:
    """As a person searches, at the command line."""
    stub = operator_pb2_grpc.OperatorServiceStub(channel)
    answers: dict[str, operator_pb2.FindMemoriesResponse] = {}

    def request(query: str) -> operator_pb2.FindMemoriesRequest:
        return operator_pb2.FindMemoriesRequest(
            project=sidecar_pb2.ProjectHint(name=PROJECT), query=query, limit=LIMIT
        )

    def find(query: str) -> Sequence[str]:
        found = stub.FindMemories(request(query), timeout=DEADLINE, metadata=METADATA)
        answers[query] = found
        return [hit.memory_id for hit in found.hits]

    def sizes(query: str) -> tuple[int, int]:
        return request(query).ByteSize(), answers[query].ByteSize()

    return Asked(name="FindMemories", find=find, sizes=sizes)


def _cost(way: Asked, sidecar: Sidecar, address: str, asked: Sequence[str]) -> Cost:
    cost = Cost()
    for query in asked[:WARM_UP]:
        way.find(query)
    family = _family(sidecar)
    _count_cpu(cost, way, sidecar.pid, asked)
    _count_time(cost, way, address, asked)
    if _family(sidecar) != family:
        raise SidecarFailed("the index worker was started anew while it was measured")
    if unasked := sidecar.said(INDEX_NOT_ASKED):
        raise SidecarFailed(f"{unasked} questions were answered without the index")
    if any(len(found) != LIMIT for found in cost.found):
        raise SidecarFailed(f"a question did not have its {LIMIT} answers")
    return cost


def _family(sidecar: Sidecar) -> set[int]:
    """The processes that answer; raises unless the index is one of them, with its model."""
    index = sidecar.status().index
    if not index.ready or not index.model:
        raise SidecarFailed("the index is not ready, or has no model: words alone would answer")
    return set(cpu_seconds(sidecar.pid))


def _count_cpu(cost: Cost, way: Asked, sidecar_pid: int, asked: Sequence[str]) -> None:
    others, own = cpu_seconds(sidecar_pid), time.process_time()
    cost.found = [way.find(query) for query in asked]
    cost.client = (time.process_time() - own) / len(asked)
    taken = {
        pid: (seconds - others.get(pid, 0.0)) / len(asked)
        for pid, seconds in cpu_seconds(sidecar_pid).items()
    }
    cost.sidecar = taken.pop(sidecar_pid)
    cost.worker = sum(taken.values())


def _count_time(cost: Cost, way: Asked, address: str, asked: Sequence[str]) -> None:
    runner = EmbeddingRunner.load(model_dir(), threads=1)
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        ask: Callable[..., bytes] = channel.unary_unary(echo.PATH)
        ask(echo.request(8, 8), timeout=DEADLINE)
        runner.embed_query(asked[0])
        for query in asked:
            began = time.perf_counter()
            way.find(query)
            found = time.perf_counter()
            same = echo.request(*way.sizes(query))
            start = time.perf_counter()
            runner.embed_query(query)
            embedded = time.perf_counter()
            ask(same, timeout=DEADLINE, metadata=METADATA)
            echoed = time.perf_counter()
            cost.wall.append(found - began)
            cost.embedding.append(embedded - start)
            cost.echo.append(echoed - embedded)


def _peers(order: peers.Order, made: peers.Vectors) -> tuple[dict[str, peers.Account], str]:
    """What each peer took; none, and why, when they cannot be had."""
    making = subprocess.run(
        [
            sys.executable,
            _ROOT / "scripts" / "environment.py",
            _PEERS_ENVIRONMENT,
            "--wheels-only",
            *peers.REQUIREMENTS,
        ],
        env=clean_environment(),
        check=False,
    )
    if making.returncode:
        return {}, "The peers could not be installed, so nothing is known about them."
    with tempfile.TemporaryDirectory(prefix="smk-") as room:
        order.write(Path(room), made)
        done = subprocess.run(
            [_PEERS_ENVIRONMENT / "bin" / "python", "-m", "bench.peers", room],
            cwd=_ROOT,
            env=clean_environment() | {"PYTHONPATH": f"{_ROOT / 'sdk'}:{_ROOT / 'sidecar'}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise ProcessFailed(f"the peers ended with {done.returncode}")
    accounts = [peers.Account(**each) for each in json.loads(done.stdout)]
    return {each.name: each for each in accounts}, ""


def _rows(name: str, cost: Cost, others: dict[str, peers.Account]) -> list[Row]:
    wall, floor = spread(cost.wall).scaled(1e3), spread(cost.floor).scaled(1e3)
    return [
        *(
            Row(
                figure=f"{name}, CPU a question",
                value=cost.cpu * 1e3,
                unit="ms",
                peer=peer,
                peer_value=others[peer].cpu * 1e3 if peer in others else None,
                bar=CPU_BAR,
            )
            for peer in (peers.LANGGRAPH, peers.MEM0)
        ),
        *(
            Row(figure=f"{name}, CPU of {part}", value=value * 1e3, unit="ms")
            for part, value in (
                ("the client", cost.client),
                ("the sidecar", cost.sidecar),
                ("the index worker", cost.worker),
            )
        ),
        Row(
            figure=f"{name}, p50",
            value=wall.p50,
            unit="ms",
            peer="embedding + echo",
            peer_value=floor.p50,
            bar=WALL_BAR,
        ),
        Row(
            figure=f"{name}, p99",
            value=wall.p99,
            unit="ms",
            peer="embedding + echo",
            peer_value=floor.p99,
        ),
    ]


def _peer_rows(others: dict[str, peers.Account]) -> list[Row]:
    return [
        *(
            Row(figure=f"{name}, p50", value=spread(each.wall).p50 * 1e3, unit="ms")
            for name, each in others.items()
        ),
        *(
            Row(figure=f"{name}, CPU a question", value=each.cpu * 1e3, unit="ms")
            for name, each in others.items()
            if name == peers.LANGGRAPH_ARRAYS
        ),
    ]


def _notes(
    costs: dict[str, Cost], others: dict[str, peers.Account], ids: Sequence[str]
) -> list[str]:
    parts = "; ".join(
        f"{name} {spread(cost.embedding).p50 * 1e3:.2f} and {spread(cost.echo).p50 * 1e3:.2f} ms"
        for name, cost in costs.items()
    )
    notes = [f"Medians of one embedding and of one echo: {parts}."]
    shares = [
        f"{_shared(cost, each, ids):.0%} ({way}, {name})"
        for way, cost in costs.items()
        for name, each in others.items()
        if name != peers.LANGGRAPH_ARRAYS
    ]
    if shares:
        notes.append(
            f"Of the {LIMIT} that a peer finds, we find as well: {', '.join(shares)}. The peers "
            "rank by vector, we by vector and words."
        )
    notes.append(
        "LangGraph keeps vectors as the lists that its embedders are documented to return. One "
        "that returns arrays instead is shown too."
    )
    return notes


def _shared(cost: Cost, peer: peers.Account, ids: Sequence[str]) -> float:
    """How much of what the peer found we found too."""
    pairs = list(zip(cost.found, peer.found, strict=False))
    both = sum(ids[place] in ours for ours, theirs in pairs for place in theirs)
    return both / max(1, sum(len(theirs) for _, theirs in pairs))


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--memories", type=int, default=MEMORIES, help="in the project")
    options.add_argument("--queries", type=int, default=QUERIES, help="questions in each way")
    options.add_argument(
        "--peer-queries", type=int, default=PEER_QUERIES, help="of those, for peers"
    )
    chosen = options.parse_args()
    report = run(chosen.memories, chosen.queries, chosen.peer_queries)
    return conclude(report, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
