"""Two texts say the same when they share most of their words."""

from seamark_sidecar.promotion.likeness import alike, holds

TEXT = "prices are kept in cents and tax is added at the very end of an order by cart"


def test_a_text_is_like_itself_whatever_its_case_and_its_signs():
    assert alike(TEXT, TEXT.title().replace(" and", ", and") + ".", 0.99)


def test_one_word_in_many_makes_no_difference_and_half_of_them_do():
    assert alike(TEXT, TEXT.replace("very ", ""), 0.88)
    assert not alike(TEXT, TEXT[: len(TEXT) // 2], 0.85)


def test_nothing_is_like_nothing():
    assert not alike("", "", 0.85)
    assert not alike("", TEXT, 0.85)


def test_a_text_holds_its_parts_and_not_the_other_way_round():
    assert holds(TEXT, "Prices are kept in cents", 0.8)
    assert not holds("prices are kept in cents", TEXT, 0.8)
    assert not holds(TEXT, "", 0.8)
