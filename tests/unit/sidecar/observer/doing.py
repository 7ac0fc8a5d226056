"""Moments of a session made directly, for tests of single detectors."""

import dataclasses
import itertools
from dataclasses import replace

from seamark.events import (
    FileChanged,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.observer.calls.use import Action, ToolUse, Touch
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.errors import failure_of
from seamark_sidecar.observer.results.result import Result, Tests

_ids = itertools.count()


def _use(action, *, tool="", **fields):
    return ToolUse(
        call_id=f"c{next(_ids)}", tool=tool or action.value.capitalize(), action=action, **fields
    )


def returned(use, text="", *, step=0, time=0.0, outcome=Outcome.OK, result=None, in_sight=()):
    body = ToolReturned(call_id=use.call_id, outcome=outcome, result=text)
    if result is None:
        result = Result(failure=failure_of(body))
    return Moment(step=step, time=time, body=body, use=use, result=result, in_sight=in_sight)


def called(step=0, time=0.0, action=Action.READ):
    use = _use(action)
    return Moment(
        step=step, time=time, body=ToolCalled(call_id=use.call_id, tool=use.tool), use=use
    )


def read(*paths, step=0, text="", **more):
    use = _use(Action.READ, touches=tuple(Touch(path, Action.READ) for path in paths))
    return returned(use, text, step=step, **more)


def edit(path, step=0, old="", new="", **more):
    touch = Touch(path, Action.EDIT, replaced=old)
    return returned(_use(Action.EDIT, touches=(touch,), written=new), step=step, **more)


def write(path, step=0, new="", **more):
    touch = Touch(path, Action.WRITE)
    return returned(_use(Action.WRITE, touches=(touch,), written=new), step=step, **more)


def run(command, text="", step=0, *, action=Action.RUN, **more):
    fields = {
        name: more.pop(name)
        for name in ("runner", "touches", "reverted", "written", "patterns", "gone")
        if name in more
    }
    return returned(_use(action, tool="bash", command=command, **fields), text, step=step, **more)


def checked(command="pytest", text="", step=0, runner="pytest", passed=-1, failed=-1, **more):
    moment = run(command, text, step, action=Action.TEST, runner=runner, **more)
    counts = Tests(passed=passed, failed=failed) if passed >= 0 or failed >= 0 else None
    return replace(moment, result=replace(moment.result, tests=counts))


def grep(pattern, *places, step=0, found=(), count=-1, time=0.0):
    use = _use(Action.SEARCH_TEXT, patterns=(pattern,), places=places)
    return returned(use, step=step, time=time, result=Result(found=found, match_count=count))


def glob(pattern, found, step=0):
    use = _use(Action.SEARCH_FILES, patterns=(pattern,))
    return returned(use, step=step, result=Result(found=tuple(found), match_count=len(found)))


def web(reference, step=0, **more):
    return returned(_use(Action.WEB, tool="WebSearch", reference=reference), step=step, **more)


def asked(text, step=0):
    return Moment(step=step, time=0.0, body=UserSaid(text=text))


def said(text, step=0):
    return Moment(step=step, time=0.0, body=TextProduced(kind=TextKind.REASONING, text=text))


def stepped(step, tokens=0, time=0.0):
    return Moment(step=step, time=time, body=StepCompleted(input_tokens=tokens))


def changed(path, step=0):
    return Moment(step=step, time=0.0, body=FileChanged(path=f"/r/{path}"), in_sight=(path,))


def planned(steps, *moments):
    """The moments of a session for which so many steps were planned."""
    return [dataclasses.replace(moment, planned_steps=steps) for moment in moments]


def shown(detector, *moments):
    """The signals of the detector after these moments."""
    for moment in moments:
        detector.see(moment)
    return list(detector.signals())
