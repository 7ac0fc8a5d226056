"""The real embedding model: what it finds alike, how near it is to its original, what it costs."""

import json
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from seamark_sidecar.models.catalog import CATALOG
from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.runner import EmbeddingRunner
from tests.shared_model import SPEC, shared_model, shared_original
from tests.unit.sidecar.models.reference import reference_vector

SENTENCES = [
    "Prices are kept in cents; format them only in the views.",
    "Run the tests with make check, not with pytest.",
    "pytest",
    "The lock file is held by another process.",
    "def total(cart: Cart) -> int:\n    return sum(item.price for item in cart.items)",
    "Whenever a tariff changes, the published fees must be generated again.",
    "sqlite3.OperationalError: database is locked",
    "src/billing/invoice_renderer.py",
    "Do not edit generated files by hand: they are written by scripts/proto.sh.",
    "A retry without a deadline hung the worker for an hour.",
    "The user asked for dark mode in the settings page.",
    "Migration 0042 must run before the new index is created, or the deployment fails.",
    "ImportError: cannot import name 'Client' from partially initialized module 'seamark'",
    "git rebase --onto main feature~3 feature",
    "Ein kurzer deutscher Satz über Umlaute: äöü.",
    "日本語の短い文です。",
    "!!! ??? ... --- ###",
    "yes",
    "The cache is invalidated by the file's hash and not by its time of modification, because "
    "checkouts on this machine set all times to the moment of the checkout. " * 6,
    "API_TIMEOUT_SECONDS defaults to 30, but the proxy in front of it gives up after 20.",
]

# Each line: a question, what answers it, what does not.
RELATED = [
    (
        "how are monetary amounts stored",
        "Prices are kept in cents; format them only in the views.",
        "The lock file is held by another process.",
    ),
    (
        "which command runs the test suite",
        "Run the tests with make check, not with pytest.",
        "The user asked for dark mode in the settings page.",
    ),
    (
        "why is the request cut off early",
        "API_TIMEOUT_SECONDS defaults to 30, but the proxy in front of it gives up after 20.",
        "Do not edit generated files by hand: they are written by scripts/proto.sh.",
    ),
    (
        "order of database schema changes",
        "Migration 0042 must run before the new index is created, or the deployment fails.",
        "Whenever a tariff changes, the published fees must be generated again.",
    ),
    (
        "circular import",
        "ImportError: cannot import name 'Client' from partially initialized module 'seamark'",
        "A retry without a deadline hung the worker for an hour.",
    ),
]


@pytest.fixture(scope="module")
def directory():
    return shared_model()


@pytest.fixture(scope="module")
def runner(directory):
    return EmbeddingRunner.load(directory, threads=2)


@pytest.fixture(scope="module")
def expected():
    """The vectors of the sentences by the original weights."""
    original = shared_original()
    weights = load_file(original / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(original / "tokenizer.json"))
    tokenizer.enable_truncation(SPEC.max_tokens)
    tokenizer.no_padding()
    return np.stack(
        [
            reference_vector(
                weights,
                tokenizer.encode(sentence).ids,
                heads=SPEC.attention_heads,
                epsilon=SPEC.layer_norm_epsilon,
            )
            for sentence in SENTENCES
        ]
    )


def test_int8_vectors_are_near_those_of_the_original(runner, expected):
    together = np.sum(runner.embed(SENTENCES) * expected, axis=1)
    alone = np.array(
        [
            runner.embed_query(text) @ vector
            for text, vector in zip(SENTENCES, expected, strict=True)
        ]
    )
    assert together.min() >= 0.97, list(zip(together.round(4), SENTENCES, strict=True))
    assert alone.min() >= 0.97, list(zip(alone.round(4), SENTENCES, strict=True))


def test_what_belongs_together_is_nearer_than_what_does_not(runner):
    for question, answer, other in RELATED:
        query = runner.embed_query(question)
        near, far = runner.embed([answer, other])
        assert query @ near > query @ far, question


def test_a_text_has_the_same_vector_alone_and_among_others(runner):
    together = runner.embed(SENTENCES)
    alone = np.stack([runner.embed_query(text) for text in SENTENCES])
    assert np.sum(together * alone, axis=1).min() > 0.9999


def test_the_model_is_the_one_of_the_catalog(runner):
    assert runner.spec is CATALOG["all-minilm-l6-v2-int8"]
    assert runner.embed(["x"]).shape == (1, 384)


def test_words_after_the_128th_token_count(runner):
    # What the tokenizer's file has baked in would cut them off.
    head = "the cart rounds prices " * 40
    assert runner.embed_query(head) @ runner.embed_query(head + "lighthouse keeper " * 20) < 0.98


def test_a_short_query_is_not_padded(runner):
    def fastest(text):
        times = []
        for _ in range(30):
            started = time.perf_counter()
            runner.embed_query(text)
            times.append(time.perf_counter() - started)
        return min(times)

    # Padded to a fixed length they would take the same time.
    assert fastest("cart price") * 4 < fastest("the cart rounds prices " * 60)


def test_an_altered_model_is_not_loaded(directory, tmp_path):
    copy = shutil.copytree(directory, tmp_path / SPEC.id)
    with (copy / "model.onnx").open("r+b") as file:
        file.seek(10_000_000)
        file.write(b"\xff\xff")
    with pytest.raises(ModelBroken, match=r"model\.onnx has sha256"):
        EmbeddingRunner.load(copy, threads=1)


EMBED_MANY = """
import json, psutil, sys, time
started = time.monotonic()
from pathlib import Path
from seamark_sidecar.models.runner import EmbeddingRunner
runner = EmbeddingRunner.load(Path(sys.argv[1]), threads=2)
runner.embed_query("ready")
ready = time.monotonic() - started
words = ("price cart worker lock index tariff proxy cents view " * 60).split()
texts = [" ".join(words[: 1 + number * 37 % 420]) for number in range(int(sys.argv[2]))]
runner.embed(texts)
# What a run took is kept for the next one, so this is also the most it ever had.
print(json.dumps({"ready": ready, "memory": psutil.Process().memory_info().rss}))
"""


def embed_many(directory, count):
    done = subprocess.run(
        [sys.executable, "-c", EMBED_MANY, str(directory), str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_it_is_ready_soon_and_stays_modest(directory):
    cost = embed_many(directory, 300)
    assert cost["memory"] < 400e6
    # About a quarter of a second on an idle machine; this one may be busy.
    assert cost["ready"] < 5


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_texts(directory):
    assert embed_many(directory, 2000)["memory"] < 400e6
