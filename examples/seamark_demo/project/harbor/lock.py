"""Freezes the office's fees.json into fees.lock, the table that is shipped with the code.

Checkouts in the field must not change price when somebody saves a draft, so a new
fees.json counts only from the moment `python -m harbor.lock` has been run.
"""

import json
from decimal import Decimal
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "fees.json"
TABLE = Path(__file__).parent / "fees.lock"


def freeze(source: str) -> str:
    """The table for the office's text, with rates in whole cents."""
    fees = json.loads(source)
    rows = {name: (fees[name]["unit"], _cents(fees[name]["rate"])) for name in sorted(fees)}
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    return f'{{\n  "version": 2,\n  "fees": {{\n{lines}\n  }}\n}}\n'


def _cents(rate: str) -> int:
    cents = Decimal(rate) * 100
    if cents != int(cents):
        raise SystemExit(f"the rate {rate} is not in whole cents")
    return int(cents)


if __name__ == "__main__":
    TABLE.write_text(freeze(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"froze {SOURCE.name}")
