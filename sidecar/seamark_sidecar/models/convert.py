"""The program that makes an int8 ONNX model from a checkpoint; needs `onnx` and `safetensors`.

It runs in a process of its own: it takes much memory for a moment, and can be ended.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from safetensors.numpy import load_file

from seamark_sidecar.models.bert_graph import Weights, bert_graph

# Between the vectors of the two models for the same tokens; far below what is usual.
LEAST_AGREEMENT = 0.9

_TRIAL_SHAPE = (4, 16)


class Disagreement(Exception):
    """The int8 model does not do on this machine what the original does."""


def convert(weights: Path, destination: Path, *, heads: int, epsilon: float) -> None:
    """Writes the int8 model, once it has shown that it agrees with the original.

    Args:
        weights: A safetensors checkpoint of a BERT encoder.
        destination: The file to write.
        heads: Attention heads of a layer.
        epsilon: Of the layer normalisation.
    """
    tensors = {
        name.removeprefix("bert."): np.asarray(value, np.float32)
        for name, value in load_file(weights).items()
        if np.issubdtype(value.dtype, np.floating)
    }
    original, converted = (
        bert_graph(tensors, heads=heads, epsilon=epsilon, int8=int8).SerializeToString()
        for int8 in (False, True)
    )
    agreement = _agreement(original, converted, tensors)
    if not agreement >= LEAST_AGREEMENT:
        raise Disagreement(f"the int8 model agrees with its original only by {agreement:.3f}")
    destination.write_bytes(converted)


def _agreement(original: bytes, converted: bytes, weights: Weights) -> float:
    """The smallest cosine between what the two models make of some tokens."""
    vocabulary = len(weights["embeddings.word_embeddings.weight"])
    tokens = np.random.default_rng(0).integers(0, vocabulary, _TRIAL_SHAPE, np.int64)
    one, other = _mean_vectors(original, tokens), _mean_vectors(converted, tokens)
    return float(np.min(np.sum(one * other, axis=1)))


def _mean_vectors(graph: bytes, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    (hidden,) = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
    means = hidden.mean(axis=1)
    vectors: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("destination", type=Path)
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    chosen = parser.parse_args(arguments)
    convert(chosen.weights, chosen.destination, heads=chosen.heads, epsilon=chosen.epsilon)


if __name__ == "__main__":
    main()
