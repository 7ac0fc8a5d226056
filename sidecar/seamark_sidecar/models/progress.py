"""What an installation tells about itself while it runs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class Stage(Enum):
    """The steps of an installation, in their order."""

    WAIT = "waiting for another installation"
    FETCH = "fetching"
    CHECK = "checking"
    CONVERT = "converting"
    WRITE = "writing"


# With what the stage is about, such as a package.
OnProgress = Callable[[Stage, str], None]
