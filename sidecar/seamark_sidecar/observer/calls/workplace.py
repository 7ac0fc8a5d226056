"""Where an agent works, as far as its own calls have shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seamark_sidecar.observer.calls.paths import Roots

MOST_SCRIPTS = 200
MOST_EFFECTS = 20
MOST_KNOWN = 2_000
_BYTES_A_SCRIPT = 400
_BYTES_A_PATH = 120


@dataclass(slots=True)
class Workplace:
    """What a later call's meaning depends on; a function of the calls before it, and bounded."""

    roots: Roots = field(default_factory=Roots)
    # Project-relative; where a shell that lives from call to call stands.
    directory: str = ""
    # The file in an editor that shows one at a time.
    open_file: str = ""
    # The page in a browser is one of the agent's own machine.
    is_page_local: bool = False
    # Scripts and patches written by the session, with the files they will change.
    _effects: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Files that the session had to do with.
    _known: dict[str, None] = field(default_factory=dict)

    @classmethod
    def at(cls, root: str) -> Workplace:
        """A session that is said to work there."""
        return cls(roots=Roots(given=root))

    def effects(self, script: str) -> tuple[str, ...]:
        """The project's files that this script changes when it is run.

        Only those the session had to do with before: what a script makes from nothing is scratch.
        """
        changes = self._effects.get(script)
        return tuple(path for path in changes if path in self._known) if changes else ()

    def know(self, paths: Iterable[str]) -> None:
        """The session had to do with these files."""
        known = self._known
        for path in paths:
            if path not in known:
                known[path] = None
                if len(known) > MOST_KNOWN:
                    del known[next(iter(known))]

    def note_script(self, script: str, changes: Sequence[str]) -> None:
        """A script was written that will change these."""
        self._effects.pop(script, None)
        if changes:
            self._effects[script] = tuple(changes[:MOST_EFFECTS])
        if len(self._effects) > MOST_SCRIPTS:
            del self._effects[next(iter(self._effects))]

    def size(self) -> int:
        """About how many bytes it holds."""
        return _BYTES_A_SCRIPT * len(self._effects) + _BYTES_A_PATH * len(self._known)
