"""What others take to search the same memories with the same embedder.

Started by `bench.search` in an environment of its own, which has the peers, and of us the embedder
alone. Reads its order from the directory named on its command line and prints one JSON object.
Nothing here reaches the network: whatever tries to connect is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

REQUIREMENTS = (
    "mem0ai==2.2.1",
    # How mem0 is given an embedder of one's own.
    "langchain>=1.2.13,<2",
    "langgraph>=1.1.10,<2",
    "numpy>=1.26",
    "onnxruntime>=1.20",
    "tokenizers>=0.20",
)
LANGGRAPH = "LangGraph"
LANGGRAPH_ARRAYS = "LangGraph, vectors as arrays"
MEM0 = "mem0"

_WARM_UP = 2
_LOADED_AT_ONCE = 1000
_OWNER = "bench"

Vectors = NDArray[np.float32]
Find = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be searched, and for what."""

    texts: list[str]
    queries: list[str]
    limit: int
    model_dir: str

    def write(self, directory: Path, vectors: Vectors) -> None:
        """Leaves it where the peers look for it."""
        (directory / "order.json").write_text(json.dumps(dataclasses.asdict(self)))
        np.save(directory / "vectors.npy", vectors)

    @classmethod
    def read(cls, directory: Path) -> tuple[Order, Vectors]:
        """The order, with the vector of each text."""
        order = cls(**json.loads((directory / "order.json").read_text()))
        return order, np.load(directory / "vectors.npy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one peer took."""

    name: str
    # Seconds of CPU for each query, all threads, on average.
    cpu: float
    # Seconds on the clock of each query.
    wall: list[float]
    # The texts that were found for each query, by position, best first.
    found: list[list[int]]


def main() -> None:
    """Measures one peer after the other."""
    directory = Path(sys.argv[1])
    os.environ |= {
        "MEM0_DIR": str(directory / "mem0"),
        "MEM0_TELEMETRY": "False",
        # It wants a key to construct what is never called.
        "OPENAI_API_KEY": "none",
    }
    sys.addaudithook(_refuse_connections)
    # That optional parts are missing, which makes it faster, is said for every query otherwise.
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    order, vectors = Order.read(directory)
    embedder = _embedder(Path(order.model_dir))
    known = dict(zip(order.texts, vectors.tolist(), strict=True))
    arrays = dict(zip(order.texts, vectors, strict=True))
    peers: dict[str, Callable[[], Find]] = {
        LANGGRAPH: lambda: _langgraph(order, embedder, known),
        LANGGRAPH_ARRAYS: lambda: _langgraph(order, embedder, arrays),
        MEM0: lambda: _mem0(order, embedder, vectors, directory),
    }
    accounts = [_measured(name, load(), order) for name, load in peers.items()]
    print(json.dumps([dataclasses.asdict(each) for each in accounts]))


def _measured(name: str, find: Find, order: Order) -> Account:
    places = {text: place for place, text in enumerate(order.texts)}
    for query in order.queries[:_WARM_UP]:
        find(query)
    wall: list[float] = []
    found: list[list[str]] = []
    before = time.process_time()
    for query in order.queries:
        began = time.perf_counter()
        found.append(find(query))
        wall.append(time.perf_counter() - began)
    cpu = (time.process_time() - before) / len(order.queries)
    return Account(
        name=name, cpu=cpu, wall=wall, found=[[places[each] for each in texts] for texts in found]
    )


def _embedder(model_dir: Path) -> Callable[[str], list[float]]:
    # Here and below: imported where it is used, for only the peers' environment has them all.
    from seamark_sidecar.models.runner import EmbeddingRunner

    runner = EmbeddingRunner.load(model_dir, threads=1)

    def embed(text: str) -> list[float]:
        values: list[float] = runner.embed_query(text).tolist()
        return values

    return embed


def _embeddings(embed: Callable[[str], list[float]], known: Mapping[str, Any]) -> Any:
    """The embedder as the peers want it; the texts were embedded beforehand."""
    from langchain_core.embeddings import Embeddings

    class Embedder(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [known[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return embed(text)

    return Embedder()


def _langgraph(order: Order, embed: Callable[[str], list[float]], known: Mapping[str, Any]) -> Find:
    from langgraph.store.memory import InMemoryStore

    store = InMemoryStore(
        index={
            "dims": len(next(iter(known.values()))),
            "embed": _embeddings(embed, known),
            "fields": ["text"],
        }
    )
    for place, text in enumerate(order.texts):
        store.put((_OWNER,), str(place), {"text": text})

    def find(query: str) -> list[str]:
        found = store.search((_OWNER,), query=query, limit=order.limit)
        return [each.value["text"] for each in found]

    return find


def _mem0(
    order: Order, embed: Callable[[str], list[float]], vectors: Vectors, directory: Path
) -> Find:
    from mem0 import Memory  # type: ignore[import-not-found]
    from qdrant_client import QdrantClient  # type: ignore[import-not-found]

    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "client": QdrantClient(":memory:"),
                    "path": str(directory / "qdrant"),
                    "embedding_model_dims": vectors.shape[1],
                },
            },
            "embedder": {"provider": "langchain", "config": {"model": _embeddings(embed, {})}},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(directory / "history.db"),
        }
    )
    # What `add(text, user_id=..., infer=False)` stores, many at a time.
    for start in range(0, len(order.texts), _LOADED_AT_ONCE):
        some = order.texts[start : start + _LOADED_AT_ONCE]
        memory.vector_store.insert(
            vectors=vectors[start : start + len(some)].tolist(),
            payloads=[_payload(text) for text in some],
            ids=[str(uuid.uuid4()) for _ in some],
        )

    def find(query: str) -> list[str]:
        found = memory.search(query, top_k=order.limit, filters={"user_id": _OWNER})
        return [each["memory"] for each in found["results"]]

    return find


def _payload(text: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "user_id": _OWNER,
        "role": "user",
        "data": text,
        "hash": hashlib.md5(text.encode()).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "text_lemmatized": text,
    }


def _refuse_connections(event: str, arguments: Sequence[Any]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo"}:
        raise ConnectionRefusedError("a benchmark reaches no network")


if __name__ == "__main__":
    main()
