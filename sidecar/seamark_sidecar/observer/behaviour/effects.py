"""What a call that has returned really did to files."""

from __future__ import annotations

from seamark.events import FileChanged, ToolReturned
from seamark_sidecar.observer.calls.use import CHANGES, Action, ToolUse, Touch
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.result import Result

# A call that names more files than this is a sweep, and says little of each.
MOST_TOUCHES = 32
# Between commands of one shell call; those before the one that failed have been run.
_JOINTS = ("&&", ";", "\n")


def touches(moment: Moment) -> tuple[Touch, ...]:
    """The touches that took place; none before the call has returned."""
    use, result = moment.use, moment.result
    if use is None or result is None or not use.touches:
        return ()
    return took_place(use, result)[:MOST_TOUCHES]


def took_place(use: ToolUse, result: Result) -> tuple[Touch, ...]:
    """The touches of a call that ended so."""
    if result.failure is None:
        return use.touches
    if not result.failure.was_run or not any(joint in use.command for joint in _JOINTS):
        return ()
    return tuple(touch for touch in use.touches if touch.action in CHANGES)


def read_files(moment: Moment) -> tuple[str, ...]:
    """The files read, each once."""
    return _paths(touches(moment), changed=False)


def changed_files(moment: Moment) -> tuple[str, ...]:
    """The files changed, each once, by the agent's tools or beside them."""
    if moment.use is None:
        return _changed_beside(moment)
    return _paths(touches(moment), changed=True)


def _changed_beside(moment: Moment) -> tuple[str, ...]:
    if isinstance(moment.body, FileChanged):
        # The scratchpad has just put it in sight, as the project names it.
        seen = moment.in_sight[:1]
        given = moment.body.path.replace("\\", "/")
        return tuple(path for path in seen if given.endswith(path))
    return ()


def returned_use(moment: Moment) -> ToolUse | None:
    """The call, when the moment is its return."""
    return moment.use if isinstance(moment.body, ToolReturned) else None


def _paths(done: tuple[Touch, ...], *, changed: bool) -> tuple[str, ...]:
    if len(done) == 1:
        (touch,) = done
        return (touch.path,) if (touch.action is not Action.READ) is changed else ()
    return tuple(
        dict.fromkeys(touch.path for touch in done if (touch.action is not Action.READ) is changed)
    )
