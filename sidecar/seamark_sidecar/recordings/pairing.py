"""Which result belongs to which call, where a recording does not say."""

from __future__ import annotations

from dataclasses import replace

from seamark.events import Body, ToolCalled, ToolReturned


class Pairing:
    """Names calls without an id, and gives results without one to the call that waits longest."""

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether a call has no result yet."""
        return bool(self._waiting)

    def placed(self, body: Body) -> Body:
        """The body with an id, if it belongs to a call."""
        match body:
            case ToolCalled():
                call_id = body.call_id or self._new_id()
                self._waiting[call_id] = None
            case ToolReturned():
                call_id = body.call_id or next(iter(self._waiting), "") or self._new_id()
                self._waiting.pop(call_id, None)
            case _:
                return body
        return body if body.call_id else replace(body, call_id=call_id)

    def _new_id(self) -> str:
        self._count += 1
        return f"call-{self._count}"
