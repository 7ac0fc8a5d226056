"""Where the checkout of a recorded session was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# What is no path is often found where one is expected.
_SOUND = re.compile(r"[\w./:@+ -]{1,400}")


def checkout_root(paths: Iterable[str], repo: str) -> str:
    """The directory named as the repository that most of the absolute paths lie in; else empty.

    Without it, absolute paths of somebody else's machine could not be told from those outside.
    """
    name = repo.strip("/").rsplit("/", 1)[-1]
    if not name:
        return ""
    found: Counter[str] = Counter()
    for path in paths:
        parts = path.replace("\\", "/").split("/")
        # The outermost: below it, a package is often named as its repository.
        if len(parts) > 1 and _is_absolute(parts[0]) and name in parts[1:-1]:
            root = "/".join(parts[: parts.index(name, 1) + 1])
            found[root] += _SOUND.fullmatch(root) is not None
    # The most frequent; of those alike, the first met.
    root, count = found.most_common(1)[0] if found else ("", 0)
    return root if count else ""


def _is_absolute(first: str) -> bool:
    return not first or (len(first) == 2 and first[1] == ":")
