"""How well a search finds what answers a question, on a set of questions with known answers.

The documents of the set become memories, one project for each conversation or other group; every
question is asked through `session.search`, ten answers, of a real sidecar with the model. It prints
recall@5, recall@10, MRR@10 and nDCG@10, means over all questions. `--predictions` also writes
one line a question, `{"qid": ..., "ranked": [document ids, best first]}`, for any other scorer.

A set is a directory with `docs.jsonl.gz` (`doc_id`, `text` or `code`, and where there are groups,
`conv`) and `queries.jsonl.gz` (`qid`, `question` or `query`, the ids that answer it as `evidence`
or `relevant`, `conv`). No set is part of this project.

Bar, on locomo: recall@10 ≥ .626, which BM25 reaches there.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:  # Run as a file, which puts its folder where that of the package should be.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.memories import Lesson, remember
from bench.report import Report, Row, at_least, conclude, parser, say
from bench.sidecar import INDEX_NOT_ASKED, Sidecar, SidecarFailed

SET = "locomo"
FOUND = 10
# What BM25 reaches on all questions of a set, as far as it is known.
BM25: Mapping[str, Mapping[str, float]] = {
    "locomo": {"recall@5": 0.551, "recall@10": 0.626},
    "cosqa": {"MRR@10": 0.328},
}
BARS = {("locomo", "recall@10")}

MEMORY_TYPE = "module_insight"
LONGEST = 8_000  # characters of a document; the sidecar takes no more in one memory
DEADLINE = 10.0  # seconds
INDEXED_WITHIN = 1_800.0
_DATA = "SEAMARK_EVALUATION_DATA"
_TEXTS = ("text", "code", "content")
_QUESTIONS = ("question", "query")
_WANTED = ("evidence", "relevant", "gold_files", "targets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What may be found."""

    id: str
    group: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, with the documents that answer it."""

    id: str
    group: str
    text: str
    wanted: frozenset[str]


def run(
    name: str = SET,
    data: Path | None = None,
    predictions: Path | None = None,
    limit: int | None = None,
) -> Report:
    """Asks all questions, or as many as the limit says, spread over the set."""
    directory = _directory(name, data)
    if directory is None:
        return _skipped(name, data)
    documents = list(_documents(directory))
    questions = _spread(list(_questions(directory)), limit)
    with Sidecar(with_model=True) as sidecar:
        names = _stored(sidecar, name, documents)
        say(f"asking {len(questions):,} questions")
        ranked = _asked(sidecar, name, questions, names)
        unasked = sidecar.said(INDEX_NOT_ASKED)
    if predictions is not None:
        _write(predictions, ranked)
    return Report(
        name="retrieval",
        counts=f"{name}: {len(documents):,} documents, {len(questions):,} questions",
        rows=tuple(_rows(name, questions, ranked, is_whole=limit is None)),
        notes=(f"{unasked:,} questions were answered by words alone, without the index.",),
    )


def _directory(name: str, data: Path | None) -> Path | None:
    """Where the set is: the directory itself, or one of its name in there."""
    if data is None:
        beside = Path(__file__).resolve().parents[2] / "shared" / "data"
        data = Path(os.environ.get(_DATA) or beside)
    for directory in (data, data / name):
        if (directory / "docs.jsonl.gz").is_file() and (directory / "queries.jsonl.gz").is_file():
            return directory
    return None


def _skipped(name: str, data: Path | None) -> Report:
    where = f"in {data}" if data else f"where {_DATA} says, nor beside this project"
    reason = f"Skipped: there is no docs.jsonl.gz with queries.jsonl.gz of {name} {where}."
    say(reason)
    return Report(name="retrieval", counts="nothing", rows=(), notes=(reason,))


def _documents(directory: Path) -> Iterator[Document]:
    for row in _lines(directory / "docs.jsonl.gz"):
        text = str(_first(row, _TEXTS))
        if speaker := row.get("speaker"):
            text = f"{speaker}: {text}"
        yield Document(id=str(row["doc_id"]), group=str(row.get("conv", "")), text=text[:LONGEST])


def _questions(directory: Path) -> Iterator[Question]:
    for row in _lines(directory / "queries.jsonl.gz"):
        yield Question(
            id=str(row["qid"]),
            group=str(row.get("conv", "")),
            text=str(_first(row, _QUESTIONS)),
            wanted=frozenset(map(str, _first(row, _WANTED) or ())),
        )


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        for line in opened:
            if line.strip():
                yield json.loads(line)


def _first(row: Mapping[str, Any], fields: Sequence[str]) -> Any:
    """The first of the fields that is there; empty when none is."""
    return next((row[field] for field in fields if field in row), "")


def _spread(questions: list[Question], limit: int | None) -> list[Question]:
    if limit is None or limit >= len(questions):
        return questions
    return [questions[place * len(questions) // limit] for place in range(limit)]


def _stored(sidecar: Sidecar, name: str, documents: Iterable[Document]) -> dict[str, str]:
    """Makes memories of the documents; returns each one's document, by the memory's id."""
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if document.text.strip():
            groups[document.group].append(document)
    say(f"storing and embedding {sum(map(len, groups.values())):,} documents")
    names: dict[str, str] = {}
    for group, members in groups.items():
        taught = [Lesson(MEMORY_TYPE, document.text, "") for document in members]
        ids = remember(sidecar.address, taught, _project(name, group))
        names |= dict(zip(ids, (document.id for document in members), strict=True))
    sidecar.await_index(len(names), INDEXED_WITHIN)
    if not sidecar.status().index.model:
        raise SidecarFailed("the index has no model")
    return names


def _asked(
    sidecar: Sidecar, name: str, questions: Sequence[Question], names: Mapping[str, str]
) -> dict[str, list[str]]:
    """The documents found for each question, best first."""
    client = sidecar.client(tool_deadline=DEADLINE, session_start_deadline=DEADLINE)
    sessions = {
        group: client.start_session(project_name=_project(name, group))
        for group in {question.group for question in questions}
    }
    ranked = {}
    for question in questions:
        found = sessions[question.group].search(question.text, limit=FOUND)
        if client.why_without_memory:
            raise SidecarFailed(f"memory does not work: {client.why_without_memory}")
        ranked[question.id] = [names[hit.memory_id] for hit in found.hits]
    client.close()
    return ranked


def _project(name: str, group: str) -> str:
    return f"{name} {group}".strip()


def _write(file: Path, ranked: Mapping[str, Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8") as opened:
        for qid, documents in ranked.items():
            opened.write(json.dumps({"qid": qid, "ranked": documents}) + "\n")


def _rows(
    name: str,
    questions: Sequence[Question],
    ranked: Mapping[str, Sequence[str]],
    *,
    is_whole: bool,
) -> Iterator[Row]:
    """The means; what BM25 reaches is known of whole sets only."""
    judged = [
        figures(ranked[question.id], question.wanted) for question in questions if question.wanted
    ]
    for figure in judged[0] if judged else ():
        known = BM25.get(name, {}).get(figure) if is_whole else None
        yield Row(
            figure=f"{name}, {figure}",
            value=sum(each[figure] for each in judged) / len(judged),
            peer="BM25" if known else "",
            peer_value=known,
            bar=at_least(known) if known and (name, figure) in BARS else None,
        )


def figures(ranked: Sequence[str], wanted: frozenset[str]) -> dict[str, float]:
    """How good one ranking is."""
    places = [place for place, document in enumerate(ranked[:FOUND], 1) if document in wanted]
    best = sum(1 / math.log2(place + 1) for place in range(1, min(FOUND, len(wanted)) + 1))
    return {
        "recall@5": sum(place <= 5 for place in places) / len(wanted),
        "recall@10": len(places) / len(wanted),
        "MRR@10": 1 / places[0] if places else 0.0,
        "nDCG@10": sum(1 / math.log2(place + 1) for place in places) / best,
    }


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--set", default=SET, help="which set")
    options.add_argument("--data", type=Path, help="its directory, or the one that has it")
    options.add_argument("--predictions", type=Path, help="write what was found into this file")
    options.add_argument("--limit", type=int, help="ask only so many questions")
    chosen = options.parse_args()
    report = run(chosen.set, chosen.data, chosen.predictions, chosen.limit)
    return conclude(report, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
