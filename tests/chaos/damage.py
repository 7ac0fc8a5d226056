"""Ways to spoil an index on disk."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

BLOCK = 4096


def damage(data_dir: Path, chance: random.Random) -> str:
    """Spoils the index that nobody has open, in one way; returns what was done."""
    name = chance.choice(sorted(WAYS))
    return f"{name}: {WAYS[name](data_dir / 'index', chance)}"


def _overwrite(index: Path, chance: random.Random) -> str:
    file = _a_file(index, chance)
    if file is None:
        return "nothing there"
    with file.open("r+b") as opened:
        size = file.stat().st_size
        start = chance.randrange(max(1, min(size, 1 << 16)))
        opened.seek(start)
        opened.write(chance.randbytes(min(BLOCK, size - start)))
    return f"{file.relative_to(index)} from {start}"


def _cut(index: Path, chance: random.Random) -> str:
    file = _a_file(index, chance)
    if file is None:
        return "nothing there"
    size = chance.randrange(file.stat().st_size)
    with file.open("r+b") as opened:
        opened.truncate(size)
    return f"{file.relative_to(index)} to {size}"


def _delete(index: Path, chance: random.Random) -> str:
    file = _a_file(index, chance)
    if file is None:
        return "nothing there"
    file.unlink()
    return str(file.relative_to(index))


def _remove(index: Path, chance: random.Random) -> str:
    shutil.rmtree(index, ignore_errors=True)
    return "all of it"


def _replace(index: Path, chance: random.Random) -> str:
    shutil.rmtree(index, ignore_errors=True)
    index.write_bytes(chance.randbytes(BLOCK))
    return "a file in its place"


def _lie(index: Path, chance: random.Random) -> str:
    index.with_suffix(".json").write_bytes(chance.randbytes(200))
    return "what is known of it"


def _a_file(index: Path, chance: random.Random) -> Path | None:
    if not index.is_dir():
        return None
    files = sorted(path for path in index.rglob("*") if path.is_file() and path.stat().st_size)
    return chance.choice(files) if files else None


WAYS: Mapping[str, Callable[[Path, random.Random], str]] = MappingProxyType(
    {
        "overwrite": _overwrite,
        "cut": _cut,
        "delete": _delete,
        "remove": _remove,
        "replace": _replace,
        "lie": _lie,
    }
)
