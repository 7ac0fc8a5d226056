"""How many of the facts that readers found worth keeping are among a session's first candidates.

Recorded sessions that people read and labelled are replayed; what one session alone may teach is
put in the order in which promotion takes it. A keeper counts as found when one of the first
candidates names one of its files (by base name; a keeper without files needs none) and has at least
40 % of its telling words in its first 600 characters. That rewards saying the same about the same
place; it cannot judge truth. `--predictions` writes the first six of each session, one line each,
`{"session_id", "content", "files"}`, for any other scorer.

Bar: recall ≥ .22 of keepers of strength 2 and 3 with six candidates a session.

No sessions and no labels are part of this project; without them it says so and measures nothing.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if not __package__:  # Run as a file, which puts its folder where that of the package should be.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.report import Report, Row, at_least, conclude, parser, say
from bench.sessions import Recording, data_directory, read
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.promotion.filters import best_first, frequent, said_already

BAR = 0.22
CANDIDATES = 6
CURVE = (1, 2, 3, 6, 10, 15)
LONGEST = 600
LEAST_STRENGTH = 2
LEAST_SHARE = 0.4
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
# Words that the labels' own scorer leaves out.
_COMMON = frozenset(
    (
        "this that with from have when only they them into must also does will used uses using "
        "over each some then than there which where were been more most such before after never "
        "always file files test tests code because should would could make made same other while "
        "about here just"
    ).split()
)
MISSES = (
    "Ten of the 98 misses of an earlier version, drawn with seed 10 and read: four were a "
    "reader's own conclusion, which no 600 characters of the session come near (what a run of "
    "tests left unproved, how helpers are spread, what a person's impatience says of their "
    "taste); three the agent does say, in words unlike the label's; two it says plainly and "
    "they were not among the six, for want of rank; one was the first candidate, with files "
    "that are not the keeper's.",
    "The weights were chosen with both halves in view, so neither half is a clean hold-out.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """A fact that a later agent would have wanted."""

    words: frozenset[str]
    files: frozenset[str]

    def is_in(self, candidate: Candidate) -> bool:
        """Whether the candidate says as much about the same place."""
        files = {posixpath.basename(path) for path in candidate.files}
        if self.files and not self.files & files:
            return False
        said = telling(candidate.content[:LONGEST])
        return bool(self.words) and len(self.words & said) >= LEAST_SHARE * len(self.words)


def run(sessions: Path, labels: Path, predictions: Path | None = None) -> Report:
    """Replays the labelled sessions and counts what they would have kept."""
    labelled = {file.stem: tuple(_keepers(file)) for file in sorted(labels.glob("*.jsonl"))}
    recordings = {name: found for name in labelled if (found := _recording(sessions, name))}
    if not recordings:
        reason = f"Skipped: no labelled sessions in {sessions} and {labels}."
        say(reason)
        return Report(name="keepers", counts="nothing", rows=(), notes=(reason,))
    proposed = {name: candidates(recording) for name, recording in recordings.items()}
    if predictions is not None:
        _write(predictions, recordings, proposed)
    keepers = sum(len(labelled[name]) for name in recordings)
    return Report(
        name="keepers",
        counts=f"{len(recordings)} sessions, {keepers} keepers of strength 2 or 3",
        rows=tuple(_rows({name: labelled[name] for name in recordings}, proposed)),
        notes=MISSES,
    )


def candidates(recording: Recording) -> list[Candidate]:
    """What this one session may teach, best first."""
    alone = [
        each for each in recording.watched().candidates() if frequent(each, sightings=1) is None
    ]
    taken: list[Candidate] = []
    for each in best_first(alone):
        if said_already(each, taken) is None:
            taken.append(each)
    return taken


def telling(text: str) -> frozenset[str]:
    """The names and longer words of a text."""
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


def _keepers(file: Path) -> Iterator[Keeper]:
    for line in file.read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        if label["kind"] == "keeper" and label["strength"] >= LEAST_STRENGTH:
            yield Keeper(
                words=telling(label["content"]),
                files=frozenset(posixpath.basename(path) for path in label["files"]),
            )


def _recording(sessions: Path, name: str) -> Recording | None:
    return next((found for file in sessions.rglob(f"{name}.json*") if (found := read(file))), None)


def _rows(
    labelled: Mapping[str, Sequence[Keeper]], proposed: Mapping[str, Sequence[Candidate]]
) -> Iterator[Row]:
    for most in CURVE:
        found, all_ = _found(labelled, proposed, most)
        yield Row(
            figure=f"keepers found, {most} candidates a session ({found} of {all_})",
            value=found / all_ if all_ else 0.0,
            bar=at_least(BAR) if most == CANDIDATES else None,
        )
    for half in (0, 1):
        members = {name: keepers for name, keepers in labelled.items() if _half(name) == half}
        found, all_ = _found(members, proposed, CANDIDATES)
        yield Row(
            figure=f"keepers found, {CANDIDATES} candidates, half {half + 1} ({found} of {all_})",
            value=found / all_ if all_ else 0.0,
        )


def _found(
    labelled: Mapping[str, Sequence[Keeper]],
    proposed: Mapping[str, Sequence[Candidate]],
    most: int,
) -> tuple[int, int]:
    """How many keepers the first candidates hold, of how many."""
    hits = [
        any(keeper.is_in(candidate) for candidate in proposed[name][:most])
        for name, keepers in labelled.items()
        for keeper in keepers
    ]
    return sum(hits), len(hits)


def _half(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2


def _write(
    file: Path,
    recordings: Mapping[str, Recording],
    proposed: Mapping[str, Sequence[Candidate]],
) -> None:
    with file.open("w", encoding="utf-8") as opened:
        for name, found in proposed.items():
            for each in found[:CANDIDATES]:
                row = {
                    "session_id": recordings[name].id,
                    "content": each.content[:LONGEST],
                    "files": list(each.files),
                }
                opened.write(json.dumps(row) + "\n")


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--sessions", type=Path, help="the directory of recorded sessions")
    options.add_argument("--labels", type=Path, help="the directory of their labels")
    options.add_argument("--predictions", type=Path, help="write the candidates into this file")
    chosen = options.parse_args()
    data = data_directory()
    report = run(
        chosen.sessions or data / "trajectories",
        chosen.labels or data / "labels",
        chosen.predictions,
    )
    return conclude(report, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
