"""The table of models is complete, and pins what it names."""

import re
import string

import pytest

from seamark_sidecar.models.catalog import CATALOG, DEFAULT_MODEL, find_model
from seamark_sidecar.models.errors import UnknownModel

MODELS = list(CATALOG.values())


def test_the_default_model_is_in_the_catalog():
    assert find_model(DEFAULT_MODEL) is CATALOG[DEFAULT_MODEL]


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.id)
def test_every_model_is_pinned_and_has_a_second_source(spec):
    assert CATALOG[spec.id] is spec
    # It becomes the name of a directory.
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]+", spec.id)
    for file in (spec.weights, spec.tokenizer):
        assert len(file.sha256) == 64
        assert set(file.sha256) <= set(string.hexdigits.lower())
        assert file.size > 0
    assert len({source.name for source in spec.sources}) >= 2
    for source in spec.sources:
        assert re.fullmatch(r"\d+(\.\d+)+", source.version)
        assert ".." not in source.folder
        assert not source.folder.startswith("/")
    assert spec.pooling == "mean"
    assert spec.dimensions % spec.attention_heads == 0


def test_an_unknown_model_is_told_which_there_are():
    with pytest.raises(UnknownModel, match=rf"'gpt-17'.*{DEFAULT_MODEL}"):
        find_model("gpt-17")
