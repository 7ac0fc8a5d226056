"""Makes all checks at once, each in its own time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from seamark_sidecar.doctor.finding import Finding, Verdict, fail

LONGEST = 1.2  # seconds for all of them together

Subject = TypeVar("Subject")


class _Examiner:
    """One check on a thread of its own; one that hangs keeps nobody, not even at the end."""

    def __init__(self, name: str, check: Callable[[], Verdict]) -> None:
        self._name = name
        self._check = check
        self._verdict: Verdict | None = None
        self._thread = threading.Thread(target=self._run, name=f"check of {name}", daemon=True)
        self._thread.start()

    def finding(self, within: float) -> Finding:
        self._thread.join(max(0.0, within))
        verdict = self._verdict or fail(
            "this could not be found out in time",
            "see whether the disk, or a network file system, hangs",
        )
        return Finding(name=self._name, state=verdict.state, what=verdict.what, todo=verdict.todo)

    def _run(self) -> None:
        try:
            self._verdict = self._check()
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding too
            self._verdict = fail(
                f"this cannot be checked: {str(error) or type(error).__name__}",
                "correct what it says, then run: seamark doctor",
            )


def examine(
    checks: Mapping[str, Callable[[Subject], Verdict]], subject: Subject, within: float = LONGEST
) -> list[Finding]:
    """The findings in the order of the checks."""
    end = time.monotonic() + within
    examiners = [_Examiner(name, partial(check, subject)) for name, check in checks.items()]
    return [each.finding(end - time.monotonic()) for each in examiners]
