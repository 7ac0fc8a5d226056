"""The fees that are in force."""

import json
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "fees.lock"


class UnknownFee(LookupError):
    """No fee has this name."""


@dataclass(frozen=True)
class Fee:
    """One fee: so much for each unit."""

    unit: str
    rate: Decimal


@cache
def fees_in_force() -> dict[str, Fee]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["fees"]
    return {name: Fee(unit, Decimal(cents) / 100) for name, (unit, cents) in rows.items()}


def find_fee(name: str) -> Fee:
    """The fee with this name.

    Raises:
        UnknownFee: With the most similar name, since most are misspelt.
    """
    fees = fees_in_force()
    if name not in fees:
        similar = get_close_matches(name, fees, n=1, cutoff=0.4)
        hint = f"; did you mean {similar[0]!r}?" if similar else ""
        raise UnknownFee(f"no fee is called {name!r}{hint}")
    return fees[name]
