"""A BERT encoder as an ONNX graph, from its weights alone: as they are, or in int8."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "last_hidden_state"

_OPSET = 17
# Of the file format; what onnxruntime has read for years.
_IR_VERSION = 8
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
# Added to the scores of padding before the softmax.
_NEVER = -1e9

# 7 bits for weights: with 8, processors without VNNI instructions overflow in a product.
_WEIGHT_STEPS = 63
_STEPS = 127
_MIDDLE = 128
# Keeps a row of zeros from being divided by zero.
_SMALLEST = 1e-9


def bert_graph(
    weights: Weights, *, heads: int, epsilon: float, int8: bool = False
) -> onnx.ModelProto:
    """The encoder, from token ids and a mask to the vectors of the last layer.

    In int8, each token is scaled by itself wherever it is multiplied with weights. The usual way
    scales all texts of a run alike: a text's vector then depends on the texts beside it, and one
    token that stands out costs all others their precision.

    Args:
        weights: By their names in the checkpoint.
        heads: Attention heads of a layer.
        epsilon: Of the layer normalisation.
        int8: A quarter of the size, and faster.

    Raises:
        KeyError: a weight is missing.
    """
    return _Encoder(weights, heads, epsilon, int8=int8).build()


class _Encoder:
    """Collects nodes and constants; each method returns the name of what it computes."""

    def __init__(self, weights: Weights, heads: int, epsilon: float, *, int8: bool) -> None:
        self._weights = weights
        self._heads = heads
        self._epsilon = epsilon
        self._int8 = int8
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        # What was scaled already: query, key and value are made from the same rows.
        self._scaled_rows: dict[str, tuple[str, str]] = {}

    def build(self) -> onnx.ModelProto:
        hidden = self._embeddings()
        padding = self._padding()
        for layer in range(_layers(self._weights)):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, padding)
        self._nodes.append(helper.make_node("Identity", [hidden], [OUTPUT]))
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        shape = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in INPUTS],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [*shape, width])],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _embeddings(self) -> str:
        start, end = self._integers("first", [0]), self._op("Shape", "input_ids", start=1, end=2)
        # A text is one sentence, so every token is of the first kind.
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._weights["embeddings.position_embeddings.weight"] + kind
        place = self._op("Slice", self._constant("positions", places), start, end, start)
        return self._normalised("embeddings.LayerNorm", self._op("Add", self._words(), place))

    def _words(self) -> str:
        name = "embeddings.word_embeddings.weight"
        if not self._int8:
            return self._op("Gather", self._weight(name), "input_ids")
        rows, scales = _in_steps(self._weights[name], axis=1, steps=_STEPS)
        row = self._op("Gather", self._constant(f"{name}.rows", rows), "input_ids")
        scale = self._op("Gather", self._constant(f"{name}.scales", scales), "input_ids")
        return self._op("Mul", self._op("Cast", row, to=TensorProto.FLOAT), scale)

    def _padding(self) -> str:
        mask = self._op("Cast", "attention_mask", to=TensorProto.FLOAT)
        padded = self._op("Sub", self._number("one", 1.0), mask)
        spread = self._op("Unsqueeze", padded, self._integers("heads_and_queries", [1, 2]))
        return self._op("Mul", spread, self._number("never", _NEVER))

    def _layer(self, name: str, hidden: str, padding: str) -> str:
        attended = self._attention(f"{name}.attention.self", hidden, padding)
        attended = self._linear(f"{name}.attention.output.dense", attended)
        hidden = self._normalised(
            f"{name}.attention.output.LayerNorm", self._op("Add", attended, hidden)
        )
        wide = self._gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._normalised(f"{name}.output.LayerNorm", self._op("Add", narrow, hidden))

    def _attention(self, name: str, hidden: str, padding: str) -> str:
        width = self._weights[f"{name}.query.weight"].shape[0]
        size = width // self._heads
        split = self._integers("split", [0, 0, self._heads, size])

        def part(part: str, order: Sequence[int]) -> str:
            linear = self._linear(f"{name}.{part}", hidden)
            return self._op("Transpose", self._op("Reshape", linear, split), perm=order)

        query, key = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1])
        scale = self._number("scale", 1 / math.sqrt(size))
        scores = self._op("Mul", self._op("MatMul", query, key), scale)
        shares = self._op("Softmax", self._op("Add", scores, padding), axis=-1)
        mixed = self._op("MatMul", shares, part("value", [0, 2, 1, 3]))
        turned = self._op("Transpose", mixed, perm=[0, 2, 1, 3])
        return self._op("Reshape", turned, self._integers("merge", [0, 0, width]))

    def _gelu(self, x: str) -> str:
        """The exact one: x · (1 + erf(x / √2)) / 2."""
        erf = self._op("Erf", self._op("Mul", x, self._number("rsqrt2", math.sqrt(0.5))))
        doubled = self._op("Mul", x, self._op("Add", erf, self._number("one", 1.0)))
        return self._op("Mul", doubled, self._number("half", 0.5))

    def _linear(self, name: str, x: str) -> str:
        turned = self._weights[f"{name}.weight"].T
        if self._int8:
            product = self._int8_product(name, x, turned)
        else:
            product = self._op("MatMul", x, self._constant(f"{name}.turned", turned))
        return self._op("Add", product, self._weight(f"{name}.bias"))

    def _int8_product(self, name: str, x: str, turned: NDArray[np.float32]) -> str:
        columns, scales = _in_steps(turned, axis=0, steps=_WEIGHT_STEPS)
        rows, row_scales = self._rows_in_steps(x)
        product = self._op(
            "MatMulInteger",
            rows,
            self._constant(f"{name}.columns", columns),
            self._constant("middle", np.array(_MIDDLE, np.uint8)),
        )
        scaled = self._op("Mul", self._op("Cast", product, to=TensorProto.FLOAT), row_scales)
        return self._op("Mul", scaled, self._constant(f"{name}.scales", scales[0]))

    def _rows_in_steps(self, x: str) -> tuple[str, str]:
        if x not in self._scaled_rows:
            largest = self._op("ReduceMax", self._op("Abs", x), axes=[-1], keepdims=1)
            safe = self._op("Max", largest, self._number("smallest", _SMALLEST))
            scale = self._op("Mul", safe, self._number("one_step", 1 / _STEPS))
            steps = self._op("Round", self._op("Div", x, scale))
            shifted = self._op("Add", steps, self._number("shift", _MIDDLE))
            self._scaled_rows[x] = self._op("Cast", shifted, to=TensorProto.UINT8), scale
        return self._scaled_rows[x]

    def _normalised(self, name: str, x: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self._epsilon)

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _integers(self, name: str, values: Sequence[int]) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        if name not in self._constants:
            # Not np.ascontiguousarray, which makes a list of a single number.
            self._constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name


def _in_steps(
    values: NDArray[np.float32], *, axis: int, steps: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers, and what to multiply them with: one scale along each axis."""
    largest = np.abs(values).max(axis=axis, keepdims=True)
    scales = (np.maximum(largest, _SMALLEST) / steps).astype(np.float32)
    return np.round(values / scales).astype(np.int8), scales


def _layers(weights: Weights) -> int:
    found = {int(match[1]) for name in weights if (match := _LAYER.match(name))}
    return max(found, default=-1) + 1
