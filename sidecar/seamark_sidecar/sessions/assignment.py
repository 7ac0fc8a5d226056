"""What an app says of the work a session is part of, in our terms."""

from __future__ import annotations

from seamark_sidecar.methodology.plugin import Execution
from seamark_sidecar.methodology.registry import Registry
from seamark_sidecar.model.session import Work

DEEPEST_UNIT = 8
LONGEST_PART = 120


def assigned(
    registry: Registry,
    *,
    group: str = "",
    parent: str = "",
    methodology: str = "",
    phase: str = "",
    unit: str = "",
    role: str = "",
    task: str = "",
    planned_steps: int = 0,
) -> Work:
    """The place of a session; an unknown methodology is read as the native one."""
    parts = tuple(part.strip()[:LONGEST_PART] for part in unit.split("/") if part.strip())
    plugin = registry.get(methodology.strip())
    found = plugin.work_unit(
        Execution(role=role, phase=phase, unit=parts[:DEEPEST_UNIT], task=task)
    )
    return Work(
        group=" ".join(group.split()),
        parent=parent.strip(),
        methodology=methodology.strip(),
        stage=phase.strip(),
        phase=plugin.phase_of(phase.strip()) if phase.strip() else None,
        unit=found.hierarchy,
        planned_steps=planned_steps,
    )
