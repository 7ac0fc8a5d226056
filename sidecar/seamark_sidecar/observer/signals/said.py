"""What was said, heard once for all who listen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.behaviour.surprise import Surprise
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.signals.coupling import Coupling
from seamark_sidecar.observer.signals.dead_end import DeadEnd
from seamark_sidecar.observer.signals.discovery import Discovery
from seamark_sidecar.observer.signals.person import Person
from seamark_sidecar.observer.signals.self_correction import SelfCorrection
from seamark_sidecar.observer.text.passages import Speech, Utterance


class Listener(Protocol):
    """Finds one kind of signal in what is said, and if need be in what is done meanwhile."""

    def see(self, moment: Moment) -> None:
        """Takes anything that is not text into account."""

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        """Takes an utterance into account."""

    def signals(self) -> Iterable[Signal]:
        """What has been found so far."""

    def size(self) -> int:
        """About how many bytes it holds."""

    def shrink(self) -> None:
        """Lets go of about half of what it holds."""


LISTENERS: Sequence[Callable[[], Listener]] = (
    SelfCorrection,
    DeadEnd,
    Coupling,
    Person,
    Discovery,
)


class Said:
    """Puts what is said together and hands it on, sentence by sentence."""

    def __init__(self) -> None:
        self._speech = Speech()
        self._surprise = Surprise()
        self._listeners = tuple(make() for make in LISTENERS)

    def see(self, moment: Moment) -> None:
        for utterance in self._speech.take(moment, self._surprise.at(moment.step)):
            for listener in self._listeners:
                listener.hear(utterance, self._surprise)
        self._surprise.see(moment)
        for listener in self._listeners:
            listener.see(moment)

    def signals(self) -> Iterable[Signal]:
        rest = self._speech.rest()
        listeners = self._listeners
        if rest is not None and rest.sentences:
            # More of it may come, and then it is to be heard as a whole.
            listeners = copy.deepcopy(listeners)
            for listener in listeners:
                listener.hear(rest, self._surprise)
        found: list[Signal] = []
        for listener in listeners:
            # A discovery is what none of the others say.
            if isinstance(listener, Discovery):
                found.extend(listener.beside(tuple(found)))
            else:
                found.extend(listener.signals())
        return sorted(found, key=lambda signal: signal.step)

    def size(self) -> int:
        return self._speech.size() + sum(listener.size() for listener in self._listeners)

    def shrink(self) -> None:
        for listener in self._listeners:
            listener.shrink()
