"""Couplings said in words."""

import pytest

from .sight import said, watched


def found(text):
    return [each for each in watched(said(text)).signals() if each.kind == "coupling"]


@pytest.mark.parametrize(
    "text",
    [
        "Whenever you change src/tax.py, `fees.lock` must change too.",
        "`Cart` and `Basket` must be kept in sync.",
        "A new field must be added in both `Cart` and `Basket`.",
        "If you add a field to `State`, `to_state` has to copy it.",
    ],
)
def test_two_things_that_change_together_are_a_dependency(text):
    (signal,) = found(text)
    assert signal.type == "causal_dependency"
    assert len(signal.details["things"]) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "If I change `Cart`, `Basket` should work.",
        "Whenever you change it, the other must change too.",
        "Must `Cart` and `Basket` be kept in sync?",
        "I need to keep `Cart` and `Basket` in sync.",
        "Maybe `Cart` and `Basket` must be kept in sync.",
    ],
)
def test_hypotheses_plans_and_things_without_a_name_are_none(text):
    assert found(text) == []
