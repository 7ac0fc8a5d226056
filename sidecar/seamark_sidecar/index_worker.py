"""The index worker program: vectors and embeddings, in a process of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.installed import installed_model
from seamark_sidecar.retrieval import sparse
from seamark_sidecar.store.fault_points import fault_point
from seamark_sidecar.store.qdrant_edge import EdgeIndex, EdgePoint, Ranking
from seamark_sidecar.workers import program

HALF = np.dtype("<f2")
DATA_DIR = "--data-dir"
INDEX_NAME = "index"
LONGEST_CALL = 40.0  # seconds; nobody waits as long for an answer


class Spec(Protocol):
    """What is said of every vector."""

    @property
    def id(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def pooling(self) -> str: ...


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    @property
    def spec(self) -> Spec: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def embed_query(self, text: str) -> NDArray[np.float32]: ...


class IndexProgram:
    """What the sidecar may ask of it; every method answers with plain values.

    A point is `[number, vector or None, text, payload]`.
    """

    def __init__(self, data_dir: Path, embedder: Embedder | None, fault: str = "") -> None:
        self._embedder = embedder
        self._fault = fault
        self._index = EdgeIndex(
            data_dir / INDEX_NAME,
            model=embedder.spec.id if embedder else "",
            dimensions=embedder.spec.dimensions if embedder else 0,
        )

    @property
    def methods(self) -> Mapping[str, program.Method]:
        """By the names under which they are asked for."""
        served = (
            self.state,
            self.rebuild,
            self.apply,
            self.flush,
            self.holds,
            self.embed,
            self.search,
        )
        return {method.__name__: method for method in served}

    def state(self) -> dict[str, Any]:
        return {
            "applied": self._index.applied,
            "count": self._index.count(),
            "model": self._index.model,
            "fault": self._fault,
        }

    def rebuild(self) -> None:
        self._index.rebuild()

    def apply(self, points: Sequence[Any], model: str) -> None:
        made = self._points(points, model)
        fault_point("index.before_apply")
        self._index.upsert(made)
        fault_point("index.after_apply")

    def flush(self, applied: int) -> None:
        fault_point("index.before_flush")
        self._index.flush(applied)
        fault_point("index.after_flush")

    def holds(self, points: Sequence[Any], model: str) -> bool:
        return self._index.holds(self._points(points, model))

    def embed(self, texts: Sequence[str]) -> dict[str, Any] | None:
        if self._embedder is None:
            return None
        spec = self._embedder.spec
        # One by one: with one thread nothing is gained by padding texts to the same length, and a
        # vector then does not depend on the texts beside it.
        rows = (self._embedder.embed([text])[0] for text in texts)
        return {
            "model": spec.id,
            "dimensions": spec.dimensions,
            "pooling": spec.pooling,
            "values": [row.astype(HALF).tobytes() for row in rows],
        }

    def search(
        self,
        query: str,
        project: str,
        types: Sequence[str],
        files: Sequence[str],
        limits: Sequence[int],
    ) -> tuple[Ranking, Ranking]:
        return self._index.search(
            dense=self._embedder.embed_query(query).tolist() if self._embedder else None,
            words=sparse.query(query),
            project=project,
            types=types,
            files=files,
            limits=(limits[0], limits[1]),
        )

    def _points(self, points: Sequence[Any], model: str) -> list[EdgePoint]:
        if model and model != self._index.model:
            raise ValueError(f"these are vectors of {model}, not of {self._index.model or 'none'}")
        return [
            EdgePoint(
                number=number,
                dense=_floats(values) if values is not None else None,
                words=sparse.document(text),
                payload=payload,
            )
            for number, values, text, payload in points
        ]


def main() -> None:
    """Answers until the sidecar is gone."""
    program.end_with_parent()
    os.umask(0o077)
    arguments = sys.argv[1:]
    data_dir = Path(arguments[arguments.index(DATA_DIR) + 1])
    embedder, fault = _embedder(data_dir)
    methods = IndexProgram(data_dir, embedder, fault).methods
    program.serve(program.channel_from(arguments), limited(methods, LONGEST_CALL))


def limited(methods: Mapping[str, program.Method], seconds: float) -> dict[str, program.Method]:
    """The same methods; one that is stuck ends the process.

    Some damage makes the engine loop for ever. It holds the GIL then, so nothing in Python could
    stop it; the signal's default action does.
    """

    def call(method: program.Method, **arguments: Any) -> Any:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return method(**arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return {name: partial(call, method) for name, method in methods.items()}


def _embedder(data_dir: Path) -> tuple[Embedder | None, str]:
    """The installed model, or why there is none although one is installed."""
    directory = installed_model(data_dir)
    if directory is None:
        return None, ""
    # Takes time and memory, so only with a model.
    from seamark_sidecar.models.runner import EmbeddingRunner

    try:
        return EmbeddingRunner.load(directory, threads=1), ""
    except ModelBroken as error:
        return None, str(error)


def _floats(values: bytes) -> list[float]:
    floats: list[float] = np.frombuffer(values, HALF).astype(np.float32).tolist()
    return floats


if __name__ == "__main__":
    main()
