"""What may reach a terminal: text that cannot steer it, printed without markup."""

from __future__ import annotations

import os
import sys
import unicodedata

from rich.console import Console

# Categories of characters that act on a terminal or on the text around them, or show nothing.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
# Letters and marks that are drawn as nothing, so that two different texts look the same.
_INVISIBLE = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0xE0100, 0xE01F0),
    ]
)
# Longer lines are hard to read, however wide the window is.
_WIDEST = 100
_NARROWEST = 40
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def plain(text: str, *, newlines: bool = False) -> str:
    """The text with everything that could steer a terminal or hide in it shown as an escape.

    Args:
        text: Anything, also what a hostile repository or tool put into a memory.
        newlines: Keep line ends; otherwise they are shown as escapes like the rest.
    """
    if text.isascii() and text.isprintable():
        return text
    if newlines:
        return "\n".join(plain(line) for line in text.replace("\r\n", "\n").split("\n"))
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if unicodedata.category(char) not in _ACTING and ord(char) not in _INVISIBLE:
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def stdout_console() -> Console:
    """Prints for people; colours only on a terminal that wants them."""
    # Lines are laid out by us: rich would fold paths and ids that people copy.
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True)


def text_width() -> int:
    """Columns to lay text out in: the terminal's, or 80 when there is none."""
    return max(_NARROWEST, min(stdout_console().width, _WIDEST))


def complain(message: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(f"seamark: {plain(' '.join(message.split()))}\n")
    sys.stderr.flush()


def discard_stdout() -> None:
    """Sends the rest to nowhere, for a reader that has gone or a disk that is full."""
    # What is left in the buffer would fail again when the interpreter leaves.
    if sys.stdout is sys.__stdout__ and sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def is_interactive() -> bool:
    """Whether a person sits at both ends; an agent's shell has pipes there."""
    return all(
        stream is not None and not stream.closed and stream.isatty()
        for stream in (sys.stdin, sys.stdout)
    )
