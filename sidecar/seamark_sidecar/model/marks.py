"""What a session that took in text from outside leaves behind, for later ones to be told by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Of one session."""

    # Fingerprints of text from outside, and of text written after it came in.
    spans: tuple[int, ...] = ()
    # Project-relative paths of files that were changed after that.
    files: tuple[str, ...] = ()
    # Those that were written anew, as a whole, by a session that nothing came into.
    cleaned: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans or self.files or self.cleaned)


@dataclass(frozen=True, slots=True)
class EarlierMarks:
    """Of a project's sessions that ended before this point of its history.

    The tables are shared and grow; the point is what makes a view of them always the same.
    """

    until: int = 0
    # Each with the point at which it came in.
    spans: Mapping[int, int] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.until and (self.spans or self.files))

    def __contains__(self, span: object) -> bool:
        """Whether a fingerprint is known from outside."""
        return isinstance(span, int) and 0 < self.spans.get(span, 0) <= self.until

    def is_marked(self, path: str) -> bool:
        """Whether the file was changed by a session that text from outside had come into."""
        return 0 < self.files.get(path, 0) <= self.until


NO_MARKS = EarlierMarks()
