"""Turns texts into vectors with an installed model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from seamark_sidecar.models.batches import batches
from seamark_sidecar.models.catalog import CATALOG, TOKENIZER_NAME, ModelSpec
from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.manifest import (
    MODEL_NAME,
    check_facts,
    read_manifest,
    read_pinned,
)

Vectors = NDArray[np.float32]
Tokens = NDArray[np.int64]

# Tokens of one run, padding included: larger ones take much more memory and are no faster.
BATCH_TOKENS = 1024
# Texts that are tokenized and sorted by length together; bounds memory, however many are given.
WINDOW = 1024
# No text of a model's most tokens is longer than this many characters a token, unless it is noise.
CHARACTERS_PER_TOKEN = 64


class EmbeddingRunner:
    """An embedding model in memory; a text has the same vector, whatever it is embedded with."""

    def __init__(
        self,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        *,
        one_thread: onnxruntime.InferenceSession,
        many_threads: onnxruntime.InferenceSession,
    ) -> None:
        self._spec = spec
        self._tokenizer = tokenizer
        self._one_thread = one_thread
        self._many_threads = many_threads

    @classmethod
    def load(
        cls, directory: Path, *, threads: int, known: Mapping[str, ModelSpec] = CATALOG
    ) -> EmbeddingRunner:
        """Loads the model of a directory, once its files proved to be what its manifest says.

        Args:
            directory: Where it was installed.
            threads: How many may work on many texts; a single query always has one.
            known: The models there are, by id.

        Raises:
            ModelBroken: it is incomplete, altered, or of a model that is not known.
        """
        manifest = read_manifest(directory)
        spec = known.get(manifest.id)
        if spec is None:
            raise ModelBroken(
                f"the model in {directory} is {manifest.id!r}, which this version does not know; "
                f"remove it: seamark models remove {directory.name}"
            )
        check_facts(directory, manifest, spec)
        # What was checked is what is loaded: the files are read once.
        tokenizer = Tokenizer.from_buffer(read_pinned(directory, manifest, TOKENIZER_NAME))
        # The file's own settings cut at 128 tokens and pad every text to as many.
        tokenizer.enable_truncation(spec.max_tokens)
        tokenizer.no_padding()
        graph = read_pinned(directory, manifest, MODEL_NAME)
        one_thread = _session(graph, 1)
        many_threads = one_thread if threads == 1 else _session(graph, threads)
        return cls(spec, tokenizer, one_thread=one_thread, many_threads=many_threads)

    @property
    def spec(self) -> ModelSpec:
        """The model that runs."""
        return self._spec

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text, in their order."""
        vectors = np.empty((len(texts), self._spec.dimensions), np.float32)
        for start in range(0, len(texts), WINDOW):
            window = self._tokens(texts[start : start + WINDOW])
            for group in batches([len(tokens) for tokens in window], BATCH_TOKENS):
                made = self._run(self._many_threads, [window[position] for position in group])
                vectors[[start + position for position in group]] = made
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """The vector of one text, with one thread: the fastest on a busy machine."""
        vector: Vectors = self._run(self._one_thread, self._tokens([text]))[0]
        return vector

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        longest = self._spec.max_tokens * CHARACTERS_PER_TOKEN
        sound = (_sound(text[:longest]) for text in texts)
        tokens: list[Tokens] = []
        # What the tokenizer answers with is large, so only a few of its answers live at a time.
        while few := list(islice(sound, 64)):
            encoded = self._tokenizer.encode_batch_fast(few)
            tokens.extend(np.array(each.ids, np.int64) for each in encoded)
        return tokens

    def _run(self, session: onnxruntime.InferenceSession, texts: Sequence[Tokens]) -> Vectors:
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        (hidden,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        weights = mask[:, None, :].astype(np.float32)
        # The mean's divisor is left out: the vector is brought to length 1 anyway.
        pooled = (weights @ hidden)[:, 0, :]
        lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
        vectors: Vectors = pooled / np.maximum(lengths, np.finfo(np.float32).tiny)
        return vectors


def _session(graph: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads would otherwise burn the cores that the agent needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Texts differ in length, so no plan of memory fits the next run.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _sound(text: str) -> str:
    """The text without halves of characters, which the tokenizer does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")
