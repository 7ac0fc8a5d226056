"""The quote on the command line."""

import argparse
from decimal import Decimal

from harbor.quote import quote
from harbor.vessel import Vessel


def main() -> None:
    parser = argparse.ArgumentParser(prog="harbor")
    parser.add_argument("--length", type=Decimal, required=True, help="in metres")
    parser.add_argument("--tonnage", type=Decimal, required=True)
    parser.add_argument("fees", nargs="+")
    arguments = parser.parse_args()
    offer = quote(Vessel(length=arguments.length, tonnage=arguments.tonnage), arguments.fees)
    for line in offer.lines:
        print(f"{line.fee:<16}{line.amount:>12}")
    print(f"{'total':<16}{offer.total:>12}")


if __name__ == "__main__":
    main()
