"""Behaviour that says little alone and something together."""

import pytest

from seamark_sidecar.observer.behaviour.tasks import task_type
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.signals.context_token_spike import ContextTokenSpike
from seamark_sidecar.observer.signals.external_reference import ExternalReference
from seamark_sidecar.observer.signals.file_access import FileAccessed
from seamark_sidecar.observer.signals.glob_ignore import GlobIgnore
from seamark_sidecar.observer.signals.import_chase import ImportChase, imported
from seamark_sidecar.observer.signals.sequence import Recurring
from seamark_sidecar.observer.signals.step_overrun import StepOverrun
from seamark_sidecar.observer.signals.test_order import OrderOfTests
from seamark_sidecar.observer.signals.time_anomaly import TimeAnomaly

from .doing import (
    asked,
    called,
    checked,
    edit,
    glob,
    grep,
    planned,
    read,
    run,
    said,
    shown,
    stepped,
    web,
    write,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Fix the crash when the cart is empty", "bug_fix"),
        ("Add support for several currencies", "feature"),
        ("Refactor the cart and rename its methods", "refactor"),
        ("Increase test coverage of the parser tests", "test"),
        ("Update the README and the docs", "docs"),
        ("hello", "other"),
        ("", "other"),
        ("fix " * 100_000, "bug_fix"),
    ],
)
def test_the_kind_of_a_task_is_told_by_its_words(text, kind):
    assert task_type(text) == kind


class TestOfTests:
    def test_a_run_before_the_first_change(self):
        (signal,) = shown(
            OrderOfTests(),
            read("tests/test_cart.py", step=1),
            checked(step=2),
            edit("src/cart.py", 3),
            checked(step=4),
        )
        assert signal.details["test_run_before"]
        assert signal.details["test_read_before"]
        assert signal.details["runs_before"] == signal.details["runs_after"] == 1
        assert signal.files == ("tests/test_cart.py", "src/cart.py")
        assert signal.type == "task_calibration"

    def test_a_run_after_it(self):
        (signal,) = shown(OrderOfTests(), edit("src/cart.py", 1), checked(step=2))
        assert not signal.details["test_run_before"]
        assert not signal.details["test_read_before"]

    def test_without_a_change_there_is_no_order(self):
        assert shown(OrderOfTests(), checked(step=1)) == []

    def test_a_change_of_tests_or_scripts_is_no_change_of_code(self):
        moments = (edit("tests/test_a.py", 1), write("fix.py", 2), checked(step=3))
        assert shown(OrderOfTests(), *moments) == []


class TestOfSequences:
    ROUND = ((grep, ("total", "src")), (read, ("src/cart/a.py",)), (edit, ("src/cart/a.py",)))

    def rounds(self, count, text="", each=checked):
        moments = []
        for number in range(count):
            moments += [make(*given, step=4 * number) for make, given in self.ROUND]  # type: ignore[misc]
            moments.append(each(text=text, step=4 * number))
        return moments

    def test_steps_that_recur_with_success_are_a_recipe(self):
        signals = shown(Recurring(), asked("fix it"), *self.rounds(3))
        (signal,) = [each for each in signals if each.details["count"] == 3]
        assert len(signal.details["steps"]) >= 4
        assert signal.details["success_rate"] == 1.0
        assert signal.type == "workflow_recipe"
        assert signal.details["task_type"] == "bug_fix"

    def test_steps_that_fail_are_none(self):
        assert shown(Recurring(), *self.rounds(3, "E   ValueError: no\nexit code 1")) == []

    def test_one_thing_again_and_again_is_none(self):
        moments = [read(f"src/cart/{number}.py", step=number) for number in range(30)]
        assert shown(Recurring(), *moments) == []

    def test_once_is_none(self):
        assert shown(Recurring(), *self.rounds(1)) == []

    def test_a_cycle_is_told_once(self):
        signals = shown(Recurring(), *self.rounds(6))
        assert len({each.key for each in signals}) == len(signals) == 1


class TestOfFileAccess:
    def test_early_and_again_is_one(self):
        (signal,) = shown(
            FileAccessed(),
            asked("fix it"),
            read("a.py", step=1),
            edit("a.py", 3),
            write("a.py", 4),
            read("late.py", step=90),
            read("late.py", step=95),
            stepped(100),
        )
        assert signal.files == ("a.py",)
        assert signal.details["access_weight"] == 6
        assert (signal.details["reads"], signal.details["edits"], signal.details["writes"]) == (
            1,
            1,
            1,
        )
        assert signal.sessions_needed == 2
        assert signal.type == "prefetch_pattern"

    def test_once_is_none(self):
        assert shown(FileAccessed(), read("a.py", step=1), stepped(9)) == []

    def test_reads_alone_need_a_third_session(self):
        (signal,) = shown(FileAccessed(), read("a.py", step=1), read("a.py", step=2))
        assert signal.sessions_needed == 0


class TestOfOverruns:
    def test_far_more_steps_than_planned_is_one(self):
        (signal,) = shown(
            StepOverrun(),
            *planned(10, asked("fix it"), edit("src/auth/a.py", 3), checked(step=20), stepped(23)),
        )
        assert signal.details["overrun_ratio"] == 2.3
        assert signal.details["module"] == "src/auth"
        assert signal.details["succeeded"]
        assert "2.3 times" in signal.content

    def test_a_little_more_is_none(self):
        assert shown(StepOverrun(), *planned(10, stepped(12))) == []

    def test_without_a_plan_there_is_none(self):
        assert shown(StepOverrun(), stepped(1000)) == []


class TestOfListings:
    FILES = tuple(f"src/f{number}.py" for number in range(30))

    def test_a_listing_that_is_not_looked_at_is_one(self):
        (signal,) = shown(
            GlobIgnore(),
            glob("**/*.py", self.FILES, step=1),
            read("src/f1.py", step=2),
            glob("src/f2*.py", self.FILES[:3], step=3),
            stepped(30),
        )
        assert signal.details["results_returned"] == 30
        assert signal.details["files_read"] == 1
        assert signal.details["instead"] == "src/f2*.py"
        assert signal.type == "gotcha"

    def test_a_listing_that_is_read_is_none(self):
        moments = [read(path, step=2) for path in self.FILES[:4]]
        assert shown(GlobIgnore(), glob("**/*.py", self.FILES, 1), *moments, stepped(30)) == []

    def test_a_short_listing_is_taken_in_at_a_glance(self):
        assert shown(GlobIgnore(), glob("*.py", self.FILES[:5], 1), stepped(30)) == []

    def test_there_must_have_been_time_to_read(self):
        assert shown(GlobIgnore(), glob("*.py", self.FILES, 1), stepped(2)) == []


class TestOfContext:
    def reading(self, paths, tokens, start=0, total=0):
        moments = []
        for step, path in enumerate(paths, start):
            moments += [read(path, step=step), stepped(step + 1, total)]
            total += tokens
        return moments, start + len(paths), total

    def test_a_module_that_fills_the_context_is_one(self):
        small, step, total = self.reading([f"src/a/{n}.py" for n in range(8)], 500, total=1000)
        large, step, total = self.reading(["vendor/x/1.js", "vendor/x/2.js"], 9000, step, total)
        (signal,) = shown(
            ContextTokenSpike(), *small, *large, stepped(step + 1, total), stepped(step + 2, total)
        )
        assert signal.details["module"] == "vendor/x"
        assert signal.details["tokens_per_file"] == 9000
        assert signal.details["files_read"] == 2
        assert signal.type == "context_cost"

    def test_a_context_that_shrinks_says_nothing(self):
        moments = [
            m
            for step in range(20)
            for m in (read(f"a/{step}.py", step=step), stepped(step + 1, 90_000 - step))
        ]
        assert shown(ContextTokenSpike(), *moments) == []

    def test_without_counts_there_is_none(self):
        moments = [
            m for step in range(20) for m in (read(f"a/{step}.py", step=step), stepped(step + 1))
        ]
        assert shown(ContextTokenSpike(), *moments) == []


class TestOfLookUps:
    def test_a_look_up_before_a_change_is_one(self):
        (signal,) = shown(
            ExternalReference(), web("preload bridge pattern", 1), edit("src/ipc.ts", 3)
        )
        assert signal.details["query"] == "preload bridge pattern"
        assert signal.details["edited_file"] == "src/ipc.ts"
        assert signal.details["steps_to_edit"] == 2
        assert signal.type == "module_insight"

    def test_an_address_is_kept_as_one(self):
        (signal,) = shown(ExternalReference(), web("https://x.example/doc", 1), edit("a.ts", 2))
        assert signal.details["url"] == "https://x.example/doc"
        assert signal.details["query"] == ""

    def test_a_look_up_that_leads_to_nothing_is_none(self):
        assert shown(ExternalReference(), web("x", 1), read("a.ts", step=2), edit("a.ts", 40)) == []


class TestOfImports:
    PYTHON = "import os\nfrom shop.cart import tax, total\nfrom . import rates\n"

    def test_reading_what_a_file_imports_is_one(self):
        (signal,) = shown(
            ImportChase(),
            read("shop/order.py", step=1, text=self.PYTHON),
            read("shop/cart/tax.py", step=3),
        )
        assert signal.files == ("shop/order.py", "shop/cart/tax.py")
        assert signal.details["steps_to_discover"] == 2
        assert signal.details["tool_path"] == "direct_import"
        assert signal.type == "causal_dependency"

    def test_a_search_between_is_told(self):
        (signal,) = shown(
            ImportChase(),
            read("shop/order.py", step=1, text=self.PYTHON),
            grep("rates", step=2),
            read("shop/rates.py", step=3),
        )
        assert signal.details["tool_path"] == "search_then_read"

    def test_reading_something_else_is_none(self):
        moments = (read("shop/order.py", step=1, text=self.PYTHON), read("shop/user.py", step=2))
        assert shown(ImportChase(), *moments) == []

    def test_much_later_it_is_none(self):
        moments = (
            read("shop/order.py", step=1, text=self.PYTHON),
            read("shop/cart/tax.py", step=9),
        )
        assert shown(ImportChase(), *moments) == []

    @pytest.mark.parametrize(
        ("text", "path", "name"),
        [
            ("     1\timport a.b.c\n", "x.py", "a/b/c"),
            ("from ..rates import swiss", "shop/cart/tax.py", "shop/rates/swiss"),
            ("import { x } from './rates'", "src/cart/tax.ts", "src/cart/rates"),
            ("const x = require('../user/name.js')", "src/cart/tax.js", "src/user/name"),
            ('import (\n\t"example.com/shop/cart/rates"\n)', "main.go", "go:cart/rates"),
            ('#include "cart/tax.h"', "main.c", "cart/tax"),
            ("use crate::cart::tax;", "src/main.rs", "cart/tax"),
        ],
    )
    def test_imports_of_many_languages(self, text, path, name):
        assert name in set(imported(text, path))

    def test_a_package_of_go_is_its_directory(self):
        text = 'import (\n\t"fmt"\n\t"example.com/shop/pkg/cart"\n)\n'
        moments = (read("cmd/main.go", step=1, text=text), read("pkg/cart/total.go", step=2))
        assert len(shown(ImportChase(), *moments)) == 1


class TestOfTime:
    def dwelling(self, seconds, path="a.py", step=0, at=0.0):
        return [read(path, step=step, time=at), called(step + 1, at + seconds)]

    def session(self, *more):
        moments, at = [], 0.0
        for step in range(20):
            moments += self.dwelling(2.0, f"f{step}.py", step, at)
            at += 3.0
        return [*moments, *self.dwelling(60.0, "hard.py", 30, at), *more]

    def test_a_long_dwell_is_one_and_proposes_nothing(self):
        (signal,) = shown(TimeAnomaly(), *self.session())
        assert signal.files == ("hard.py",)
        assert signal.details["dwell_ms"] == 60_000
        assert not signal.details["correlates_with_error"]
        assert not signal.details["correlates_with_backtrack"]
        assert signal.type is None
        assert signal.content == ""

    def test_an_error_near_it_is_told(self):
        failed = run("pytest", "E   ValueError: no\nexit code 1", 32)
        (signal,) = shown(TimeAnomaly(), *self.session(failed))
        assert signal.details["correlates_with_error"]
        assert signal.confidence > 0.4

    def test_a_second_edit_of_the_file_is_told(self):
        (signal,) = shown(TimeAnomaly(), edit("hard.py", 25), *self.session(edit("hard.py", 33)))
        assert signal.details["correlates_with_backtrack"]

    def test_a_person_gone_for_hours_is_none(self):
        moments = self.session()[:-2]
        assert shown(TimeAnomaly(), *moments, *self.dwelling(7200.0, "x.py", 40, 100.0)) == []

    def test_a_clock_that_stands_or_goes_back_is_none(self):
        moments = [
            m for step in range(40) for m in self.dwelling(-5.0 if step % 2 else 0.0, "a.py", step)
        ]
        assert shown(TimeAnomaly(), *moments) == []


def test_words_alone_change_nothing():
    for make in (Recurring, FileAccessed, GlobIgnore, ContextTokenSpike, ImportChase, TimeAnomaly):
        assert shown(make(), said("I was wrong"), called(1), run("x", action=Action.OTHER)) == []
