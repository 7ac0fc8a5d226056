"""What is done to the sidecar and its workers, and how often."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import psutil

from tests.chaos.damage import damage
from tests.chaos.disk import Disk
from tests.chaos.family import Family, FamilyFailed
from tests.chaos.skewed_sidecar import set_clock

LONGEST_PAUSE = 1.5  # seconds between two torments
LONGEST_FREEZE = 3.0
LONGEST_FULL = 4.0
LONGEST_OUTAGE = 1.0
# Below every time-out, so that nothing may come of it.
LARGEST_JUMP = 11 * 3600.0
POINTS = (
    "journal.db.before_commit",
    "journal.db.after_commit",
    "memory.db.before_commit",
    "memory.db.after_commit",
    "index.before_apply",
    "index.after_apply",
    "index.before_flush",
    "index.after_flush",
)


class Tormentor:
    """Does one thing after the other; the sidecar is there again after each."""

    def __init__(
        self, family: Family, disk: Disk, chance: random.Random, say: Callable[[str], None]
    ) -> None:
        self.done: Counter[str] = Counter()
        self.sidecar_kills = 0
        self.worker_kills = 0
        self.freezes = 0
        self.restarts = 0
        self.deaths_at_points = 0
        self._family = family
        self._disk = disk
        self._chance = chance
        self._say = say

    def torment(self, until: float) -> None:
        """Goes on until that moment of the monotonic clock."""
        names = sorted(TORMENTS)
        weights = [TORMENTS[name][0] for name in names]
        while time.monotonic() < until:
            self._pause(self._chance.uniform(0.1, LONGEST_PAUSE))
            (name,) = self._chance.choices(names, weights)
            self._say(name)
            self.done[name] += 1
            TORMENTS[name][1](self)

    def calm(self) -> None:
        """Takes everything back; the sidecar then runs without faults."""
        set_clock(self._family.clock, 0.0)
        self._disk.free()
        self._thaw_all()
        if self._family.is_running:
            self._family.stop()
        self._start()

    # One torment each.

    def kill_sidecar(self) -> None:
        self._kill()
        time.sleep(self._chance.uniform(0, LONGEST_OUTAGE))
        self._start()

    def kill_worker(self) -> None:
        for worker in self._family.workers():
            worker.kill()
            self.worker_kills += 1

    def kill_worker_again_and_again(self) -> None:
        for _ in range(self._chance.randint(2, 5)):
            self.kill_worker()
            self._pause(self._chance.uniform(0, 0.6))

    def freeze_sidecar(self) -> None:
        self._family.signal(signal.SIGSTOP)
        self.freezes += 1
        time.sleep(self._chance.uniform(0.1, LONGEST_FREEZE))
        self._family.signal(signal.SIGCONT)

    def freeze_worker(self) -> None:
        for worker in self._family.workers():
            _suspend(worker)
            self.freezes += 1
            self._pause(self._chance.uniform(0.1, LONGEST_FREEZE))
            _resume(worker)

    def kill_sidecar_of_a_frozen_worker(self) -> None:
        for worker in self._family.workers():
            _suspend(worker)
            self.freezes += 1
        self._pause(0.2)
        self.kill_sidecar()

    def restart(self) -> None:
        self._stop()
        self._start()

    def kill_while_it_starts(self) -> None:
        self._kill()
        self._family.launch()
        time.sleep(self._chance.uniform(0, 0.4))
        self._kill()
        self._start()

    def fill_disk(self) -> None:
        if not self._disk.is_small:
            faults = ",".join(f"{point}=full:0.3" for point in POINTS if ".db.before" in point)
            self._stop()
            self._start(faults)
            self._pause(self._chance.uniform(0.5, LONGEST_FULL))
            self.restart()
            return
        self._disk.fill()
        runs = True
        if self._chance.random() < 0.3:
            self._kill()
            # It may say that there is no room, and end.
            runs = self._family.start()
        time.sleep(self._chance.uniform(0.2, LONGEST_FULL))
        self._disk.free()
        if not self._family.is_running:
            if runs:
                self._died()
            self._start()

    def slow_disk(self) -> None:
        point = self._chance.choice(POINTS)
        self._stop()
        self._start(f"{point}=stall:{self._chance.uniform(0.05, 0.5):.2f}")

    def die_at_a_point(self) -> None:
        point = self._chance.choice(POINTS)
        probability = self._chance.choice((0.01, 0.05, 0.2))
        self._stop()
        self._start(f"{point}=kill:{probability}")

    def jump_clock(self) -> None:
        set_clock(self._family.clock, self._chance.uniform(-LARGEST_JUMP, LARGEST_JUMP))

    def damage_index(self) -> None:
        self._kill()
        self._say(f"  {damage(self._family.data_dir, self._chance)}")
        self._start()

    # The sidecar.

    def _pause(self, seconds: float) -> None:
        """Lets time pass; a sidecar that dies at one of its points is started again."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._family.is_running:
                self._died()
                self._start(self._family.faults)
            time.sleep(min(left, 0.05))

    def _kill(self) -> None:
        if self._family.is_running:
            self._family.kill()
            self.sidecar_kills += 1

    def _stop(self) -> None:
        if self._family.is_running:
            self._family.stop()
            self.restarts += 1

    def _start(self, faults: str = "") -> None:
        self._family.least_free = self._chance.choice((0, 8))
        for _ in range(3):
            if self._family.start(faults):
                return
            self._died()
        # It dies of its faults before it is ready.
        if not self._family.start():
            raise FamilyFailed("the sidecar ends at its start, although nothing is wrong any more")

    def _died(self) -> None:
        if "=kill" not in self._family.faults:
            raise FamilyFailed(f"the sidecar ended by itself with {self._family.exit_code}")
        self.deaths_at_points += 1

    def _thaw_all(self) -> None:
        for member in self._family.members():
            _resume(member)


def _suspend(process: psutil.Process) -> None:
    try:
        process.suspend()
    except psutil.NoSuchProcess:
        return


def _resume(process: psutil.Process) -> None:
    try:
        process.resume()
    except psutil.NoSuchProcess:
        return


TORMENTS: Mapping[str, tuple[int, Callable[[Tormentor], None]]] = MappingProxyType({
    # name                              weight
    "kill sidecar":                    (6, Tormentor.kill_sidecar),
    "kill worker":                     (4, Tormentor.kill_worker),
    "kill worker again and again":     (2, Tormentor.kill_worker_again_and_again),
    "freeze sidecar":                  (3, Tormentor.freeze_sidecar),
    "freeze worker":                   (3, Tormentor.freeze_worker),
    "kill sidecar of a frozen worker": (2, Tormentor.kill_sidecar_of_a_frozen_worker),
    "kill while it starts":            (2, Tormentor.kill_while_it_starts),
    "restart":                         (2, Tormentor.restart),
    "fill disk":                       (3, Tormentor.fill_disk),
    "slow disk":                       (2, Tormentor.slow_disk),
    "die at a point":                  (4, Tormentor.die_at_a_point),
    "jump clock":                      (3, Tormentor.jump_clock),
    "damage index":                    (4, Tormentor.damage_index),
})  # fmt: skip
