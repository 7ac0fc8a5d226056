"""When an agent takes back what it believed."""

import itertools
import time

import pytest

from seamark.events import Outcome, TextKind, UserSaid
from seamark_sidecar.observer.signals.self_correction import MOST_FOUND
from seamark_sidecar.observer.text.passages import LONGEST_SENTENCE

from .sight import STEP, edit, ran, read, said, watched


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


def test_a_step_gives_the_clearest_one():
    (candidate,) = found(
        said("I forgot the import in cart.py. I was wrong about the order. The rest is fine.")
    )
    assert candidate.content.startswith("I was wrong about the order.")


def test_a_session_gives_only_so_many():
    steps = [(said(f"I was wrong about {n} things."), STEP) for n in range(99)]
    assert len(found(*itertools.chain(*steps))) == MOST_FOUND


def test_the_fields_say_what_was_believed_and_what_is_so():
    (signal,) = [
        each
        for each in watched(
            *read("src/tax.py", "1"), said("Actually, src/tax.py rounds up, not down.")
        ).signals()
        if each.kind == "self_correction"
    ]
    assert signal.details["corrected_assumption"] == "down"
    assert signal.details["actual_fact"] == "Actually, src/tax.py rounds up"
    assert signal.details["correction_type"] == "factual"
    assert signal.details["related_file"] == "src/tax.py"
    assert signal.early


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("I was wrong about the default of this setting.", "config"),
        ("I was wrong about the folder it is in.", "path"),
        ("I was wrong about what the method returns.", "api"),
        ("I was wrong about this approach.", "approach"),
    ],
)
def test_a_correction_has_a_type(text, type_):
    (signal,) = [each for each in watched(said(text)).signals() if each.kind == "self_correction"]
    assert signal.details["correction_type"] == type_


@pytest.mark.parametrize(
    "text",
    [
        "The build fails because `run_all` was defined in helpers.py which I deleted.",
        "Oops, I replaced `Cart` in the class definition too.",
        "I see what happened. I ran the script twice.",
        "I accidentally removed the import of `tax`.",
        "The row is missing because I'm not setting `owner_id`.",
        "The issue isn't the timeout of `wait_for`.",
    ],
)
def test_finding_its_own_mistake_is_a_correction(text):
    assert found(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "Maybe I accidentally removed the import of `tax`.",
        "If I was wrong about `tax`, the test fails.",
        "Did I forget the import of `tax`?",
        "I removed the import of `tax`.",
        "I see what happened. Maybe I ran the script twice.",
        'The report says "I was wrong about the tax".',
        "The issue isn't just the timeout of `wait_for`.",
    ],
)
def test_who_is_not_sure_or_only_tells_corrects_nothing(text):
    assert found(said(text)) == []


def test_a_diagnosis_counts_after_the_agent_s_own_work_failed():
    diagnosis = said("I see the issue. My `round_up` returns text.")
    assert found(diagnosis) == []
    assert found(*edit("src/tax.py", "1"), diagnosis) == []
    failed = ran("pytest", "E   TypeError: text", Outcome.ERROR)
    assert found(*failed, diagnosis) == []
    assert found(*edit("src/tax.py", "1"), *failed, diagnosis)


def test_a_concession_counts_when_it_admits_something_to_a_person():
    concession = said("You're right. I had `round_up` backwards.")
    assert found(concession) == []
    assert found(STEP, UserSaid(text="It rounds down!"), concession)
    polite = said("You're right. Let me look at `round_up`.")
    assert found(STEP, UserSaid(text="Look there."), polite) == []


def test_a_realisation_is_about_what_was_spoken_of():
    realisation = said("Ah, `Cart` is a list, not a mapping.")
    assert found(realisation) == []
    assert found(said("`Cart` maps names to prices."), STEP, realisation)


def test_a_person_s_words_are_no_correction_of_the_agent_s():
    assert found(UserSaid(text=CORRECTIONS[0])) == []


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
