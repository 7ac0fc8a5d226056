"""Memories of a made-up project: the same ones in every run, no two alike."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import grpc.aio

from bench.sidecar import METADATA
from seamark.wire.v1 import operator_pb2, sidecar_pb2

PROJECT = "bench"
IN_FLIGHT = 64
STORED_WITHIN = 60.0  # seconds for one call, when many wait
_SEED = 20


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_AREAS = _listed(
    "billing checkout ledger inventory shipping search catalog session gateway scheduler telemetry "
    "importer exporter webhook migration renderer parser planner notifier uploader replication "
    "archive permissions onboarding throttle discovery snapshot reconcile dispatch forecast"
)
_THINGS = _listed(
    "invoice token cursor batch schema cache queue worker lease retry header payload fixture index "
    "cluster shard ticket voucher refund basket address currency timezone locale digest manifest "
    "bucket thumbnail transcript consent quota budget cohort experiment rollout heartbeat checksum "
    "partition envelope template subscription webhook credential tenant"
)
_ACTIONS = _listed(
    "load save merge split resolve flush rotate normalize validate encode decode publish consume "
    "apply revert schedule cancel refresh collect compact verify attach detach enqueue drain parse"
)
_FAULTS = (
    "KeyError",
    "TimeoutError",
    "a deadlock",
    "an off-by-one in the last page",
    "ConnectionResetError",
    "a foreign key violation",
    "UnicodeDecodeError",
    "a double charge",
    "an empty response with status 200",
    "a stale read",
    "ENOSPC",
    "an assertion about ordering",
)
_MOMENTS = (
    "on the first Monday of a month",
    "when two workers start at once",
    "behind the corporate proxy",
    "with Python 3.12 only",
    "once the table has more than a million rows",
    "if the feature flag is off",
    "right after a deploy",
    "in the nightly run",
    "when the clock jumps back",
    "as soon as a customer has two addresses",
    "under the read-only role",
    "when the tests run in parallel",
)
_REASONS = (
    "because the upstream sorts by creation time and not by id",
    "since the driver returns naive datetimes",
    "because the lock is per process, not per host",
    "as the linter rewrites the import order",
    "because the old clients still send the field as text",
    "since the container has no locale installed",
    "because retries are counted before the first attempt",
    "as the default isolation level is read committed",
    "because the mock swallows the second argument",
    "since amounts are kept in cents there",
)
_TOOLS = _listed("make pytest ruff docker terraform psql npm cargo grpcurl kubectl alembic tox")
_LESSONS: tuple[tuple[str, str], ...] = (
    ("gotcha", "{symbol} raises {fault} {moment} {reason}; call {other} first."),
    ("gotcha", "Never edit {path} by hand: `{tool}` writes it again and drops the {thing}."),
    ("gotcha", "The {thing} in {path} is shared between tests, so {symbol} sees leftovers."),
    ("error_pattern", "{fault} in {symbol} means that the {thing} was not {done} {moment}."),
    ("error_pattern", "`{tool}` fails with {fault} until {path} exists; {other} creates it."),
    ("decision", "We keep the {thing} in {area} and not in {area2} {reason}."),
    ("decision", "{symbol} gives up after {number} attempts {reason}, the caller resends."),
    ("pattern", "A new {area} needs an entry in {path} and a {thing} in {path2}."),
    ("pattern", "Tests of {symbol} pass the clock as an argument; see {path}."),
    ("module_insight", "The {area} module reads its {thing} from {path} only at start-up."),
    ("module_insight", "{symbol} is called from {path2} through a registry, so grep misses it."),
    (
        "requirement",
        "Every {thing} of {area} must be {done} within {number} ms, says the contract.",
    ),
    ("preference", "Write {area} messages in the imperative and name the {thing} they are about."),
    ("causal_dependency", "Whoever changes {symbol} must change {other} in {path} as well."),
    ("dead_end", "Caching the {thing} in {symbol} did not help: {fault} came back {moment}."),
    ("workflow_recipe", "To add a {thing}: edit {path}, run `{tool}`, then call {other} once."),
)
_QUESTIONS = (
    "why does {symbol} raise {fault}",
    "{symbol} {fault}",
    "how do I add a {thing} to {area}",
    "what else must change together with {symbol}",
    "{path}",
    "where is the {thing} of {area} configured",
    "tests of {area} fail {moment}",
    "who writes the {thing} and when is it {done}",
    "is it safe to edit {path}",
    "how many attempts before {other} gives up",
    "{fault} {moment}",
    "which decision was made about the {thing} in {area}",
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a person would teach the sidecar."""

    type: str
    content: str
    file: str


def lessons(count: int) -> list[Lesson]:
    """So many memories; fewer are the beginning of more."""
    chance = random.Random(_SEED)
    made: dict[str, Lesson] = {}
    while len(made) < count:
        type_, template = chance.choice(_LESSONS)
        words = _words(chance)
        content = template.format(**words)
        made.setdefault(content, Lesson(type_, content, words["path"]))
    return list(made.values())


def questions(count: int) -> list[str]:
    """So many different questions about them."""
    chance = random.Random(_SEED + 1)
    made: dict[str, None] = {}
    while len(made) < count:
        made[chance.choice(_QUESTIONS).format(**_words(chance))] = None
    return list(made)


def remember(address: str, taught: Sequence[Lesson], project: str = PROJECT) -> list[str]:
    """Stores them as a person would, many calls at a time; returns their ids, in their order."""
    return asyncio.run(_remember(address, taught, project))


async def _remember(address: str, taught: Sequence[Lesson], project: str) -> list[str]:
    ids = [""] * len(taught)
    waiting = iter(enumerate(taught))
    async with grpc.aio.insecure_channel(address) as channel:
        ask: Callable[..., Awaitable[operator_pb2.RememberResponse]] = channel.unary_unary(
            "/seamark.wire.v1.OperatorService/Remember",
            request_serializer=operator_pb2.RememberRequest.SerializeToString,
            response_deserializer=operator_pb2.RememberResponse.FromString,
        )
        hint = sidecar_pb2.ProjectHint(name=project)

        async def work(waiting: Iterator[tuple[int, Lesson]]) -> None:
            for place, lesson in waiting:
                request = operator_pb2.RememberRequest(
                    project=hint,
                    type=lesson.type,
                    content=lesson.content,
                    files=[lesson.file] if lesson.file else [],
                    interactive=True,
                    redact=True,
                )
                answer = await ask(request, timeout=STORED_WITHIN, metadata=METADATA)
                ids[place] = answer.memory.memory_id

        async with asyncio.TaskGroup() as group:
            for _ in range(min(IN_FLIGHT, len(taught))):
                group.create_task(work(waiting))
    return ids


def _words(chance: random.Random) -> dict[str, str]:
    area, area2 = chance.sample(_AREAS, 2)
    return {
        "area": area,
        "area2": area2,
        "thing": chance.choice(_THINGS),
        "symbol": _symbol(chance),
        "other": _symbol(chance),
        "path": _path(chance, area),
        "path2": _path(chance, area2),
        "fault": chance.choice(_FAULTS),
        "moment": chance.choice(_MOMENTS),
        "reason": chance.choice(_REASONS),
        "tool": chance.choice(_TOOLS),
        "done": _past(chance.choice(_ACTIONS)),
        "number": str(chance.randrange(2, 500)),
    }


def _symbol(chance: random.Random) -> str:
    action, area, thing = (chance.choice(words) for words in (_ACTIONS, _AREAS, _THINGS))
    match chance.randrange(3):
        case 0:
            return f"{action}_{thing}"
        case 1:
            return f"{area.title()}{thing.title()}.{action}"
        case _:
            return f"{action}{area.title()}{thing.title()}()"


def _path(chance: random.Random, area: str) -> str:
    folder = chance.choice(("src", "tests", "services", "packages/core", "deploy"))
    ending = chance.choice(("py", "ts", "go", "sql", "yaml"))
    return f"{folder}/{area}/{chance.choice(_ACTIONS)}_{chance.choice(_THINGS)}.{ending}"


def _past(verb: str) -> str:
    if verb == "split":
        return verb
    if verb.endswith("y"):
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")
