"""Which form a file is of: told by what it holds, never by its name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seamark_sidecar.recordings import claude_code, messages, neutral, swe_agent
from seamark_sidecar.recordings.recording import Recording, Unreadable
from seamark_sidecar.recordings.source import read_text, stem

FORMS = (
    "seamark's neutral form, a Claude Code transcript, a trajectory of SWE-agent or "
    "mini-SWE-agent, or a list of LangChain or OpenAI messages"
)
ENDINGS = (".json", ".jsonl", ".traj", ".json.gz", ".jsonl.gz", ".traj.gz")


def files(path: Path) -> Iterator[Path]:
    """The file itself, or all below the directory that may hold recordings, by name."""
    if not path.is_dir():
        yield path
        return
    for directory, names, found in os.walk(path):
        names.sort()
        for name in sorted(found):
            if name.endswith(ENDINGS):
                yield Path(directory, name)


def read(path: Path) -> list[Recording]:
    """The recordings in the file; raises Unreadable."""
    text = read_text(path)
    name = stem(path)
    found: list[Recording] = []
    documents = _documents(text)
    if claude_code.matches(documents):
        found = [claude_code.read(documents, name)]
    elif len(documents) == 1:
        found = _of_one(documents[0], name)
    if not found and messages.matches(documents):
        found = messages.read(documents, name)
    if not found and len(documents) > 1:
        found = [
            recording
            for position, document in enumerate(documents, 1)
            for recording in _of_one(document, f"{name}-{position}")
        ]
    if not found:
        raise Unreadable(f"it is of no form that is known: {FORMS}")
    if not any(recording.turns for recording in found):
        raise Unreadable("nothing happens in it")
    return found


def _of_one(document: Any, name: str) -> list[Recording]:
    if neutral.matches(document):
        return [neutral.read(document, name)]
    if swe_agent.matches(document):
        return [swe_agent.read(document, name)]
    return messages.read(document, name)


def _documents(text: str) -> list[Any]:
    """The whole text as one JSON value, or one a line."""
    try:
        return [json.loads(text)]
    except RecursionError:
        raise Unreadable("its JSON is nested too deeply") from None
    except ValueError as error:
        whole = error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise Unreadable("it is empty")
    documents = []
    for number, line in lines:
        try:
            documents.append(json.loads(line))
        except RecursionError:
            raise Unreadable(f"line {number}: its JSON is nested too deeply") from None
        except ValueError as error:
            # One that began as a single value is said to be broken as such.
            why = whole if not documents else f"line {number}: {error}"
            raise Unreadable(f"it is cut off, or no JSON ({why})") from None
    return documents
