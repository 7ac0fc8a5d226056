"""What is said of a disk."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from seamark_sidecar.doctor.directory import judge_file_system, judge_space
from seamark_sidecar.doctor.finding import State

MB = 1 << 20


@dataclass
class Mount:
    mountpoint: str
    fstype: str


ROOT = Mount("/", "ext4")


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "9p", "fuse.sshfs", "fuse.glusterfs"]
)
def test_a_disk_of_another_machine_is_warned_of(kind):
    verdict = judge_file_system(Path("/home/me/data"), [ROOT, Mount("/home", kind)])
    assert verdict.state is State.WARN
    assert kind in verdict.what
    assert "local disk" in verdict.todo


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "apfs", "zfs", "tmpfs", "overlay", ""])
def test_a_disk_of_this_machine_is_well(kind):
    mounts = [Mount("/mnt", "nfs"), Mount("/", kind), Mount("/homely", "nfs")]
    assert judge_file_system(Path("/home/me"), mounts).state is State.OK


def test_the_closest_mount_counts_and_of_those_at_one_place_the_last():
    mounts = [Mount("/data", "nfs"), ROOT, Mount("/data", "ext4")]
    assert judge_file_system(Path("/data/x"), mounts).state is State.OK
    mounts = [Mount("/data", "ext4"), ROOT, Mount("/data", "nfs")]
    assert judge_file_system(Path("/data/x"), mounts).state is State.WARN


def test_where_nothing_is_known_nothing_is_claimed():
    verdict = judge_file_system(Path("/data"), [])
    assert (verdict.state, verdict.todo) == (State.OK, "")


@pytest.mark.parametrize(
    ("free", "state"),
    [(1000, State.OK), (400, State.OK), (399, State.WARN), (200, State.WARN), (199, State.FAIL)],
)
def test_space_is_judged_by_what_must_stay_free(free, state):
    verdict = judge_space(free * MB, 200 * MB)
    assert verdict.state is state
    assert bool(verdict.todo) == (state is not State.OK)


def test_without_a_floor_only_the_amount_is_said():
    assert judge_space(0, 0).state is State.OK
