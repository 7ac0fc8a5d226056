"""Commands that are the same attempt at something."""

from __future__ import annotations

import re
from collections.abc import Mapping

from seamark_sidecar.observer.text.wording import one_line

LONGEST = 400
MOST_WORDS = 24

# Where a command stops doing and starts to shape its output.
_SHAPING = re.compile(r"\s(?:2?>{1,2}\s?&?\S{1,80}|\|&?(?!\|).{0,500})")
_SETTING_OUT = re.compile(
    r"^(?:(?:cd|export|source|set)\s{1,4}\S{1,200}\s{0,4}(?:&&|;|\n)\s{0,4}|"
    r"[A-Z_][A-Z0-9_]{0,40}=\S{0,200}\s{1,4}){0,6}"
)
_OPTION = re.compile(r"^-|^\d+$")
# The run passes over what failed.
_LEFT_OUT = re.compile(r"--deselect|--ignore|--exclude|-k ['\"]?not |--skip")


def attempt(command: str) -> str:
    """The command without what only sets out, or shapes its output."""
    plain = _SETTING_OUT.sub("", command[: 2 * LONGEST].strip(), count=1)
    return one_line(_SHAPING.sub("", plain))[:LONGEST]


def identity_of(command: str) -> str:
    """What is run on what, whatever the options."""
    return command if is_inline(command) else " ".join(_targets(command))


def is_inline(command: str) -> bool:
    """Whether the code that it runs stands in the command itself."""
    return " -c " in command or " -e " in command or "<<" in command


def covers(command: str, runner: str, failed: Mapping[str, str]) -> bool:
    """Whether a success of the command says that what failed does so no more."""
    if identity_of(command) in failed:
        return True
    if is_inline(command) or _LEFT_OUT.search(command):
        return False
    words = _targets(command)
    for other in failed.values():
        targets = _targets(other)
        if not targets or not words or is_inline(other):
            continue
        if runner:
            if runner.split()[-1] not in other:
                continue
        elif targets[0] != words[0]:
            continue
        # The same target under other options, or a run of everything.
        if not words[1:] or set(words[1:]) & set(targets[1:]):
            return True
    return False


def _targets(command: str) -> list[str]:
    """The program, then what it was run on."""
    return [word for word in command.split()[:MOST_WORDS] if not _OPTION.match(word)]
