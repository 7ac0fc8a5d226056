"""A small disk for the data directory, so that it can run full."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

SIZE = "128m"
_BLOCK = 1 << 20


class Disk:
    """A file system in memory where one can be mounted; else a plain directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700)
        self.is_small = _mount(path)
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leaves no room."""
        block = _BLOCK
        with self._ballast.open("ab", buffering=0) as file:
            while block >= 512:
                try:
                    # A short write fills the rest.
                    file.write(b"\0" * block)
                except OSError:
                    block //= 2

    def free(self) -> None:
        """Gives the room back."""
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self.path)], check=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()


def _mount(path: Path) -> bool:
    if not shutil.which("mount"):
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
