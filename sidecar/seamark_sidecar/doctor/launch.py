"""Check of whether an agent could start the sidecar by itself."""

from __future__ import annotations

from seamark import __version__, spawn
from seamark.errors import LaunchFailed, SettingsError
from seamark.settings import Settings
from seamark_sidecar.doctor.finding import Verdict, ok, warn
from seamark_sidecar.doctor.place import Place

ASKED_WITHIN = 1.0  # seconds


def autostart(place: Place) -> Verdict:
    """Agents find a sidecar without anybody starting it."""
    try:
        settings = Settings.from_env(place.environ)
    except SettingsError:
        return ok("not known, see `settings`")
    if settings.disabled:
        return ok("off, as memory is")
    if not settings.autostart:
        return _without(place)
    try:
        python = spawn.interpreter(settings.sidecar_python)
    except LaunchFailed as error:
        return warn(f"agents cannot start one: {error}", "or start it yourself: seamark up -d")
    if not settings.sidecar_python:
        return ok(f"agents start it with {python}")
    environ = spawn.environment(
        place.environ, data_dir=place.data_dir, address=place.settings.address
    )
    version = spawn.version_of(python, environ, ASKED_WITHIN)
    if version != __version__:
        return warn(
            f"SEAMARK_SIDECAR_PYTHON is {python}, which has "
            f"{f'seamark {version}' if version else 'no seamark'}; this is {__version__}",
            f"run: {python} -m pip install 'seamark[sidecar]=={__version__}'",
        )
    return ok(f"agents start it with {python}")


def _without(place: Place) -> Verdict:
    why = (
        "SEAMARK_ADDRESS is set" if place.environ.get("SEAMARK_ADDRESS") else "SEAMARK_AUTOSTART=0"
    )
    if place.holder() is None:
        return warn(f"off ({why}), and none runs", "start it: seamark up -d")
    return ok(f"off ({why})")
