"""What memories belong to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository, or a directory, or a name given by an app."""

    id: str
    name: str
