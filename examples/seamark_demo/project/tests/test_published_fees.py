"""What the office publishes is what a vessel is charged."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from harbor.quote import quote
from harbor.tariff import UnknownFee
from harbor.vessel import Vessel

PUBLISHED = json.loads((Path(__file__).parent.parent / "fees.json").read_text(encoding="utf-8"))
BARGE = Vessel(length=Decimal(100), tonnage=Decimal(100))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_vessel_is_charged_the_published_rate(name):
    units = 1 if PUBLISHED[name]["unit"] == "call" else 100

    assert quote(BARGE, [name]).total == Decimal(PUBLISHED[name]["rate"]) * units


def test_a_misspelt_fee_is_refused_with_a_suggestion():
    with pytest.raises(UnknownFee, match="did you mean 'pilot'"):
        quote(BARGE, ["pilote"])
