"""The ship that pays."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Vessel:
    """What the fees are measured by."""

    length: Decimal
    tonnage: Decimal

    def size(self, unit: str) -> Decimal:
        """How many of the unit this vessel is charged for."""
        return {"call": Decimal(1), "metre": self.length, "tonne": self.tonnage}[unit]
