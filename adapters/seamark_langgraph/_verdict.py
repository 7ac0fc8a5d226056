"""Asks the app whether the work of a run proved right."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from inspect import isawaitable, iscoroutinefunction

Validate = Callable[[], bool] | Callable[[], Awaitable[bool]]


def verdict(validate: Validate) -> bool | None:
    """The callable's answer; None when it gave none. What it raises is raised."""
    answer: object = validate()
    if isawaitable(answer):
        # A thread of its own, because this one may already have a running loop.
        with ThreadPoolExecutor(max_workers=1) as pool:
            answer = pool.submit(copy_context().run, asyncio.run, _awaited(answer)).result()
    return None if answer is None else bool(answer)


async def averdict(validate: Validate) -> bool | None:
    """The same without blocking the event loop."""
    answer: object = validate() if _is_async(validate) else await asyncio.to_thread(validate)
    if isawaitable(answer):
        answer = await answer
    return None if answer is None else bool(answer)


def _is_async(validate: Validate) -> bool:
    return iscoroutinefunction(validate) or iscoroutinefunction(type(validate).__call__)


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer
