"""What a command says when it succeeded: for people, or as one JSON value for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from seamark_sidecar.cli.terminal import plain, stdout_console

Json = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def show(lines: Iterable[Text | str], answer: Json, *, as_json: bool) -> None:
    """Prints the lines, or the answer when programs are to read it.

    Text is printed as it is styled and must be plain already; strings are made plain here.
    """
    if as_json:
        show_json(answer)
        return
    console = stdout_console()
    for line in lines:
        if isinstance(line, Text):
            console.print(line)
        else:
            sys.stdout.write(plain(line) + "\n")
    sys.stdout.flush()


def show_json(answer: Json) -> None:
    """One JSON value on one line; ASCII only, so that it is safe on a terminal too."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=True, allow_nan=False) + "\n")
    sys.stdout.flush()
