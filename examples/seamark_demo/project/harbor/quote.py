"""What a visit costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from harbor.tariff import find_fee
from harbor.vessel import Vessel

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    """One fee on the quote."""

    fee: str
    amount: Decimal


@dataclass(frozen=True)
class Quote:
    """All fees of one visit."""

    lines: tuple[Line, ...]

    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), Decimal(0))


def quote(vessel: Vessel, fees: Iterable[str]) -> Quote:
    """The offer for this vessel; every line is rounded to the cent."""
    return Quote(tuple(_line(vessel, name) for name in fees))


def _line(vessel: Vessel, name: str) -> Line:
    fee = find_fee(name)
    amount = fee.rate * vessel.size(fee.unit)
    return Line(name, amount.quantize(CENT, ROUND_HALF_UP))
