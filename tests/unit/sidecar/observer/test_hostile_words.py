"""Text made to be slow to read."""

import time

import pytest

from seamark.events import Outcome, UserSaid

from .sight import STEP, edit, ran, said, watched

TEXTS = [
    "a" * 65_000,
    "`" * 65_000,
    "_" * 65_000,
    "(" * 65_000,
    '"' * 65_000,
    "no, " * 16_000,
    "okay okay okay " * 4_000,
    "my fix " * 9_000,
    "the approach does not " * 3_000,
    "this approach is not going to " * 2_000,
    "if you change " * 4_500,
    "changes to " * 6_000,
    "must be made in " * 4_000,
    "you should not instead of " * 2_500,
    "Ah, `" * 13_000,
    "Actually, " * 6_500,
    "I see the issue. " * 4_000,
    "# must " * 9_000,
    "# must be set, or it fails\n" * 2_500,
    "```\n" * 16_000,
    "- " * 32_000,
    "ſ’İ" * 20_000,
    "\ud83d\ude00" * 9,
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:20]))
def test_it_takes_no_longer_than_other_text(text):
    bodies = (
        *edit("src/tax.py", "1"),
        *[STEP] * 6,
        *ran("pytest", "E   x", Outcome.ERROR),
        said(text),
        STEP,
        UserSaid(text=text),
        *ran("ls", "", Outcome.OK),
    )
    start = time.process_time()
    watched(*bodies).signals()
    assert time.process_time() - start < 0.5
