"""A BERT encoder in plain numpy, to hold the converted models against."""

import math

import numpy as np


def _erf(x):
    """Abramowitz and Stegun 7.1.26: off by 1.5e-7 at the most."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    series = sum(term * t ** (power + 1) for power, term in enumerate(terms))
    return np.sign(x) * (1 - series * np.exp(-x * x))


def reference_vector(weights, tokens, *, heads, epsilon):
    """The mean-pooled vector of length 1 of one text, given its token ids."""

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normalised(name, x):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(-1, keepdims=True) + epsilon)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def split(x):
        return x.reshape(len(tokens), heads, -1).transpose(1, 0, 2)

    def attention(name, x):
        query, key, value = (split(linear(f"{name}.{part}", x)) for part in QKV)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        return mixed.transpose(1, 0, 2).reshape(len(tokens), -1)

    def gelu(x):
        return x * (1 + _erf(x / math.sqrt(2))) / 2

    x = (
        weights["embeddings.word_embeddings.weight"][tokens]
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = normalised("embeddings.LayerNorm", x)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        name = f"encoder.layer.{layer}"
        attended = linear(f"{name}.attention.output.dense", attention(f"{name}.attention.self", x))
        x = normalised(f"{name}.attention.output.LayerNorm", attended + x)
        wide = gelu(linear(f"{name}.intermediate.dense", x))
        x = normalised(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", wide) + x)
        layer += 1
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


QKV = ("query", "key", "value")
