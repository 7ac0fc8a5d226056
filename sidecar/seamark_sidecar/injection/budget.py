"""How much an agent may be shown."""

from __future__ import annotations

from seamark_sidecar.model.memory import MemoryType

MOST_PER_INJECTION = 500  # tokens
MOST_PER_SESSION = 4000
MOST_MEMORIES_PER_STEP = 4
# After the session's budget is spent only these are still worth an interruption.
ALWAYS = frozenset({MemoryType.DEAD_END})


def tokens(text: str) -> int:
    """An estimate: a token is about four bytes, of English, of code and of most else."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
