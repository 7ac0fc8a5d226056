"""When an agent takes back what it believed."""

import time

import pytest

from seamark.events import TextKind
from seamark_sidecar.observer.signals.self_correction import LONGEST_SENTENCE, MOST_FOUND

from .sight import read, said, watched


def found(*bodies):
    return [each for each in watched(*bodies).candidates() if each.signal == "self_correction"]


CORRECTIONS = [
    "I was wrong about the cache: it is flushed in conf/redis.yml.",
    "I had been wrong that tests run in parallel.",
    "I initially thought src/cart.py computes the tax, but it is computed in src/tax.py.",
    "I mistakenly assumed the port is 8080 but settings.toml says 9090.",
    "I thought the fixture was local, but it is actually defined in conftest.py.",
    "I expected an int; however it turns out the API returns text.",
    "My assumption that package.json lists it was wrong.",
    "My earlier claim about main.go is incorrect.",
    "Correction: the schema lives in db/schema.sql, not in models.py.",
    "Actually, prices are stored in cents, not in euros.",
    "Actually the build reads setup.cfg instead of pyproject.toml for this.",
    "Actually, I was reading config.dev.yaml rather than config.yaml the whole time.",
    "It turns out that the loader sorts by mtime, not by name.",
]


@pytest.mark.parametrize("text", CORRECTIONS)
@pytest.mark.parametrize("kind", TextKind)
def test_a_correction_is_kept_whole(text, kind):
    (candidate,) = found(said(f"Let me look at this. {text}", kind))
    assert candidate.content == text
    assert candidate.type == "gotcha"


@pytest.mark.parametrize(
    "text",
    [
        "Wait, let me check.",
        "Wait, let me check whether it is not in the other file.",
        "Actually, I'll run it.",
        "Actually, I’ll run it now and not wait for the others.",
        "Actually, let me not do that yet and read on.",
        "Actually, I should not touch this file before the tests pass.",
        "Actually, I need to look at the tests rather than at the code.",
        "Hmm, actually that works.",
        "I thought about it for a while.",
        "I assumed so.",
        "Now I know which file to edit.",
        "",
    ],
)
def test_idle_talk_is_not_a_correction(text):
    assert found(said(text)) == []


def test_the_sentence_after_it_is_kept_too():
    (candidate,) = found(
        said("I was wrong about the order. Migrations run before fixtures. Then I go on.")
    )
    assert candidate.content == "I was wrong about the order. Migrations run before fixtures."


def test_it_is_about_the_files_it_names():
    (candidate,) = found(
        *read("src/tax.py", "1"),
        *read("src/cart.py", "2"),
        *read("README.md", "3"),
        said("I was wrong about cart.py: src/tax.py rounds."),
    )
    assert set(candidate.files) == {"src/tax.py", "src/cart.py"}


def test_it_is_about_the_file_touched_last_when_it_names_none():
    (candidate,) = found(*read("a.py", "1"), *read("b.py", "2"), said("I was wrong about it."))
    assert candidate.files == ("b.py",)


def test_the_same_words_are_one_finding():
    assert len(found(said(CORRECTIONS[0]), said(CORRECTIONS[0].upper()))) == 1


def test_a_session_gives_only_so_many():
    assert (
        len(found(said("\n".join(f"I was wrong about {n} things." for n in range(99)))))
        == MOST_FOUND
    )


@pytest.mark.parametrize(
    "text",
    [
        "I was wrong about it. A" + "a" * 65_000,
        "I was wrong about it. A" + "a." * 32_000,
        "I was wrong about it. " + "./" * 32_000,
        ("I thought but " * 70 + ". ") * 66,
        ("I first thought " * 60 + ". ") * 66,
        ("Actually, x " * 80 + ". ") * 66,
        ("it turns out " * 70 + ". ") * 66,
        ("my guess my belief was " * 40 + ". ") * 66,
        "I thought " * 6_500,
        " \t" * 32_000,
        ". A" * 21_000,
        "\n" * 65_000,
    ],
    ids=lambda text: text[:24].strip(),
)
def test_hostile_text_takes_no_longer_than_other_text(text):
    bodies = said(text)
    start = time.process_time()
    kept = found(bodies)
    assert time.process_time() - start < 0.5
    assert all(len(each.content) <= 2 * LONGEST_SENTENCE + 1 for each in kept)
