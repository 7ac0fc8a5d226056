"""Checks of the data directory and the disk it is on."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import psutil

from seamark_sidecar.doctor.finding import Verdict, fail, ok, warn
from seamark_sidecar.doctor.place import Place

# File systems of other machines, by the names that systems give them.
NETWORK = frozenset(
    {
        *("9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "sshfs"),
        *("virtiofs", "webdav"),
    }
)
# Below this multiple of what must stay free it is time to do something.
LOW = 2
FEW_FILES = 100
ELSEWHERE = "set SEAMARK_DATA_DIR to a directory of your own"

_MB = 1 << 20


class Mount(Protocol):
    """One mounted file system."""

    @property
    def mountpoint(self) -> str: ...
    @property
    def fstype(self) -> str: ...


def ownership(place: Place) -> Verdict:
    """The directory is the user's alone, and can be written."""
    path = place.data_dir
    user = os.geteuid()
    if not os.path.lexists(path):
        return _to_be_made(path)
    link = path.lstat()
    if stat.S_ISLNK(link.st_mode) and link.st_uid != user:
        return fail(f"{path} is a link that another user made (uid {link.st_uid})", ELSEWHERE)
    try:
        found = path.stat()
    except OSError as error:
        return fail(f"{path} cannot be looked at ({error.strerror})", ELSEWHERE)
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return fail(f"{path} is not a directory", f"move it away, or {ELSEWHERE}")
    if found.st_uid != user:
        return fail(f"{path} belongs to another user (uid {found.st_uid})", ELSEWHERE)
    if mode & 0o022:
        return fail(
            f"other users can write to {path} (mode {mode:o})",
            f"make sure that what is in it is yours, then run: chmod 700 {path}",
        )
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"{path} cannot be written (mode {mode:o})", f"run: chmod 700 {path}")
    if foreign := _foreign(path, user):
        return fail(
            f"{', '.join(foreign)} in {path} belong to another user",
            "find out how they came there, then remove them",
        )
    if mode & 0o077:
        return warn(
            f"other users can look into {path} (mode {mode:o})",
            f"run: chmod 700 {path}; the next start of the sidecar does it too",
        )
    return ok(str(path))


def file_system(place: Place) -> Verdict:
    """Locks and write-ahead logs work on it."""
    return judge_file_system(_nearest(place.data_dir), psutil.disk_partitions(all=True))


def judge_file_system(path: Path, mounts: Iterable[Mount]) -> Verdict:
    """Whether the file system under a path is one of this machine."""
    resolved = path.resolve()
    around = [each for each in mounts if resolved.is_relative_to(each.mountpoint)]
    if not around:
        return ok("its kind is not known")
    # The last of several at one place is the one that is seen.
    mount = max(enumerate(around), key=lambda item: (len(item[1].mountpoint), item[0]))[1]
    kind = mount.fstype
    if kind.removeprefix("fuse.").lower() in NETWORK:
        return warn(
            f"{kind} at {mount.mountpoint} is of another machine; locks and databases need a "
            "local disk",
            "set SEAMARK_DATA_DIR to a directory on a local disk",
        )
    return ok(f"{kind or 'of unknown kind'} at {mount.mountpoint}")


def space(place: Place) -> Verdict:
    """There is room to go on learning."""
    directory = _nearest(place.data_dir)
    found = os.statvfs(directory)
    free = found.f_bavail * found.f_frsize
    if found.f_flag & os.ST_RDONLY:
        return fail(
            f"the disk of {directory} is read-only", "mount it for writing, or " + ELSEWHERE
        )
    if found.f_files and found.f_favail < FEW_FILES:
        return fail(
            f"the disk of {directory} can hold only {found.f_favail} more files",
            "remove files that are not needed there",
        )
    return judge_space(free, place.settings.least_free)


def judge_space(free: int, least: int) -> Verdict:
    """Whether so many free bytes are enough, when some must stay free."""
    what = f"{free / _MB:,.0f} MB are free"
    todo = "free some space, or set SEAMARK_DATA_DIR to another disk"
    if free < least:
        return fail(
            f"{what}, less than the {least / _MB:,.0f} MB that are to stay free; "
            "nothing new is learnt",
            todo,
        )
    if free < LOW * least:
        return warn(f"{what}; below {least / _MB:,.0f} MB nothing new is learnt", todo)
    return ok(what)


def _to_be_made(path: Path) -> Verdict:
    parent = _nearest(path)
    if not os.access(parent, os.W_OK | os.X_OK):
        return fail(f"{path} is not there, and {parent} cannot be written", ELSEWHERE)
    return ok(f"{path} is made at the first start")


def _nearest(path: Path) -> Path:
    """The directory itself, or the first around it that is there."""
    for each in (path, *path.parents):
        if each.is_dir():
            return each
    return Path("/")


def _foreign(path: Path, user: int) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(
            each.name for each in entries if each.stat(follow_symlinks=False).st_uid != user
        )[:3]
