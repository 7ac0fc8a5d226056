"""The index worker with an embedding model of a few lines, for tests that switch models.

In its data directory, `scripted.json` names the model; `embedded.txt` gets a line for each text
that is embedded; a file called `die before X` or `die after X` ends the process at method X once,
`fail at X` makes that method fail once, `hang at X` makes it hang once.
"""

import json
import os
import sys
import time
import zlib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from seamark_sidecar.index_worker import DATA_DIR, IndexProgram, limited
from seamark_sidecar.workers import program

LONGEST_CALL = 2.0  # seconds


class ScriptedEmbedder:
    """Texts that share words are near; different models disagree about everything."""

    def __init__(self, data_dir, model, dimensions):
        self.spec = SimpleNamespace(id=model, dimensions=dimensions, pooling="mean")
        self._log = data_dir / "embedded.txt"

    def embed(self, texts):
        if any("unembeddable" in text for text in texts):
            raise ValueError("the model cannot take this text")
        with self._log.open("a") as log:
            log.writelines(f"{self.spec.id} {text}\n" for text in texts)
        return np.array([self.vector(text) for text in texts], np.float32)

    def embed_query(self, text):
        return self.vector(text)

    def vector(self, text):
        total = np.full(self.spec.dimensions, 0.01, np.float32)
        for word in text.lower().split():
            seed = zlib.crc32(f"{self.spec.id} {word}".encode())
            total += np.random.default_rng(seed).standard_normal(self.spec.dimensions)
        return (total / np.linalg.norm(total)).astype(np.float32)


def scripted_embedder(data_dir):
    """The model that `scripted.json` names; None without it."""
    try:
        model = json.loads((data_dir / "scripted.json").read_text())
    except FileNotFoundError:
        return None
    return ScriptedEmbedder(data_dir, model["id"], model["dimensions"])


def main():
    program.end_with_parent()
    os.umask(0o077)
    arguments = sys.argv[1:]
    data_dir = Path(arguments[arguments.index(DATA_DIR) + 1])
    methods = IndexProgram(data_dir, scripted_embedder(data_dir)).methods
    served = {name: partial(called, data_dir, name, method) for name, method in methods.items()}
    program.serve(program.channel_from(arguments), limited(served, LONGEST_CALL))


def called(data_dir, name, method, **arguments):
    if told(data_dir / f"die before {name}"):
        os._exit(9)
    if told(data_dir / f"fail at {name}"):
        raise RuntimeError("it failed as it was told")
    if told(data_dir / f"hang at {name}"):
        time.sleep(10 * LONGEST_CALL)
    answer = method(**arguments)
    if told(data_dir / f"die after {name}"):
        os._exit(9)
    return answer


def told(order):
    if not order.exists():
        return False
    order.unlink()
    return True


if __name__ == "__main__":
    main()
