from decimal import Decimal

from harbor.quote import Line, Quote, quote
from harbor.vessel import Vessel

YACHT = Vessel(length=Decimal("14.5"), tonnage=Decimal(40))


def test_the_total_is_the_sum_of_the_lines():
    offer = Quote((Line("pilot", Decimal("410.00")), Line("waste", Decimal("4.80"))))

    assert offer.total == Decimal("414.80")


def test_every_fee_asked_for_has_its_line_in_order():
    offer = quote(YACHT, ["waste", "pilot", "waste"])

    assert [line.fee for line in offer.lines] == ["waste", "pilot", "waste"]


def test_a_line_is_rounded_to_the_cent():
    assert all(line.amount == round(line.amount, 2) for line in quote(YACHT, ["mooring"]).lines)


def test_a_visit_without_fees_costs_nothing():
    assert quote(YACHT, []).total == 0
