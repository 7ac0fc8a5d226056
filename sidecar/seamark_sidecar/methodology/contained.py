"""A methodology from outside, whose faults stay its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from seamark_sidecar.methodology.native import Native
from seamark_sidecar.methodology.plugin import (
    Execution,
    FieldKind,
    Methodology,
    Notebook,
    Relay,
    TypeDefinition,
    WorkState,
    WorkUnit,
    WorkUnitResult,
)
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.phase import Phase

T = TypeVar("T")

LONGEST_TEXT = 8_000  # characters
LONGEST_LABEL = 200
LONGEST_NAME = 64
MOST_LISTED = 100
DEEPEST_STATE = 6


# What a plugin must have to be asked at all.
CALLS = (
    "phase_of",
    "work_unit",
    "relays",
    "relay_text",
    "work_state",
    "work_state_text",
    "completed",
)


class Nonsense(Exception):
    """A plugin answered with something that makes no sense."""


class Contained:
    """Asks the plugin; where it fails or makes no sense, the native methodology answers.

    The first fault of each kind is told, and all of them can be read in `faults`.

    Args:
        on_fault: Told what was asked for, and what went wrong.

    Raises:
        Nonsense: it cannot be asked at all.
    """

    def __init__(
        self, plugin: Methodology, on_fault: Callable[[str, str], None] = lambda what, why: None
    ) -> None:
        self._on_fault = on_fault
        self._plugin = plugin
        self._native = Native()
        self.faults: dict[str, str] = {}
        self.id = _checked_id(plugin)
        missing = [name for name in CALLS if not callable(getattr(plugin, name, None))]
        if missing:
            raise Nonsense(f"it has no {', '.join(missing)}")
        self.name = self._asked("name", lambda: _text(plugin.name, LONGEST_LABEL), self.id)
        self.phases: Mapping[str, Phase] = self._asked("phases", lambda: _phases(plugin), {})
        self.types: Sequence[TypeDefinition] = self._asked("types", lambda: _types(plugin), ())

    def phase_of(self, phase: str) -> Phase:
        return self._asked(
            "phase_of",
            lambda: _instance(self._plugin.phase_of(phase), Phase),
            self._native.phase_of(phase),
        )

    def work_unit(self, execution: Execution) -> WorkUnit:
        def ask() -> WorkUnit:
            unit = _instance(self._plugin.work_unit(execution), WorkUnit)
            return WorkUnit(
                methodology=self.id,
                hierarchy=tuple(_text(each, LONGEST_LABEL) for each in _list(unit.hierarchy)),
                label=_text(unit.label, LONGEST_LABEL),
            )

        plain = WorkUnit(
            methodology=self.id,
            hierarchy=execution.unit,
            label=self._native.work_unit(execution).label,
        )
        return self._asked("work_unit", ask, plain)

    def relays(self) -> Sequence[Relay]:
        def ask() -> Sequence[Relay]:
            return tuple(
                Relay(
                    from_role=_text(each.from_role, LONGEST_NAME),
                    to_role=_text(each.to_role, LONGEST_NAME),
                    types=tuple(_text(name, LONGEST_NAME) for name in _list(each.types)),
                )
                for each in (_instance(found, Relay) for found in _list(self._plugin.relays()))
            )

        return self._asked("relays", ask, ())

    def relay_text(self, memories: Sequence[Memory], to_role: str) -> str:
        return self._asked(
            "relay_text",
            lambda: _text(self._plugin.relay_text(memories, to_role), LONGEST_TEXT),
            "",
        )

    def work_state(self, output: str) -> WorkState:
        def ask() -> WorkState:
            state = self._plugin.work_state(output)
            if not isinstance(state, Mapping):
                raise Nonsense(f"a work state is no {type(state).__name__}")
            return {_text(name, LONGEST_NAME): _json(value) for name, value in state.items()}

        return self._asked("work_state", ask, {})

    def work_state_text(self, state: WorkState) -> str:
        return self._asked(
            "work_state_text",
            lambda: _text(self._plugin.work_state_text(state), LONGEST_TEXT),
            "",
        )

    def completed(self, execution: Execution, result: WorkUnitResult, notebook: Notebook) -> None:
        self._asked("completed", lambda: self._plugin.completed(execution, result, notebook), None)

    def _asked(self, what: str, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin fails as it likes
            if what not in self.faults:
                self.faults[what] = _told(error)
                self._on_fault(what, self.faults[what])
            return otherwise


def _checked_id(plugin: Methodology) -> str:
    id_ = plugin.id
    if not isinstance(id_, str) or not 1 <= len(id_) <= LONGEST_NAME:
        raise Nonsense("its id is no short text")
    if not id_.isascii() or not id_.replace("-", "").isalnum() or id_ != id_.lower():
        raise Nonsense(f"its id {id_[:40]!r} is not of lower-case letters, digits and dashes")
    return id_


def _phases(plugin: Methodology) -> Mapping[str, Phase]:
    table = plugin.phases
    if not isinstance(table, Mapping):
        raise Nonsense(f"a table of phases is no {type(table).__name__}")
    return {_text(name, LONGEST_NAME): _instance(table[name], Phase) for name in _list(table)}


def _types(plugin: Methodology) -> Sequence[TypeDefinition]:
    return tuple(_type(_instance(each, TypeDefinition)) for each in _list(plugin.types))


def _type(definition: TypeDefinition) -> TypeDefinition:
    half_life = definition.half_life
    if half_life is not None and not 0 < _number(half_life) < float("inf"):
        raise Nonsense(f"a half-life of {half_life!r} days")
    for weight in definition.weights.values():
        if not 0 <= _number(weight) <= 10:
            raise Nonsense(f"a weight of {weight!r}; use 0 to 10")
    return TypeDefinition(
        name=_text(definition.name, LONGEST_NAME),
        description=_text(definition.description, LONGEST_LABEL),
        fields={
            _text(name, LONGEST_NAME): (_instance(kind, FieldKind), bool(required))
            for name, (kind, required) in definition.fields.items()
        },
        half_life=half_life,
        weights={_instance(phase, Phase): weight for phase, weight in definition.weights.items()},
    )


def _list(found: Any) -> Sequence[Any]:
    if isinstance(found, str | bytes):
        raise Nonsense("a list is no text")
    listed = []
    for each in found:
        listed.append(each)
        if len(listed) > MOST_LISTED:
            raise Nonsense(f"a list has more than {MOST_LISTED} entries")
    return listed


def _text(found: Any, longest: int) -> str:
    if not isinstance(found, str):
        raise Nonsense(f"a text is no {type(found).__name__}")
    return found[:longest].encode("utf-8", "replace").decode()


def _number(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Nonsense(f"a number is no {type(found).__name__}")
    return float(found)


def _instance(found: Any, kind: type[T]) -> T:
    if not isinstance(found, kind):
        raise Nonsense(f"a {kind.__name__} is no {type(found).__name__}")
    return found


def _json(value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST_STATE:
        raise Nonsense("a work state is nested too deep")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, str):
        return _text(value, LONGEST_TEXT)
    if isinstance(value, Mapping):
        return {_text(name, LONGEST_NAME): _json(value[name], depth + 1) for name in _list(value)}
    if isinstance(value, Sequence):
        return [_json(each, depth + 1) for each in _list(value)]
    raise Nonsense(f"a work state holds no {type(value).__name__}")


def _told(error: BaseException) -> str:
    said = " ".join(str(error).split())[:LONGEST_LABEL]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
