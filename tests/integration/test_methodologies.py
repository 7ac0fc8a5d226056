"""Methodologies of installed packages, and never of the project an agent works on."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from seamark_sidecar.methodology.registry import OWN, load

SOUND = """
from seamark_sidecar.methodology.native import Native
from seamark_sidecar.methodology.plugin import TypeDefinition

class Kanban(Native):
    id = "kanban"
    name = "Kanban"
    types = (TypeDefinition(name="card", description="A card."),)

instance = Kanban()
"""


def install(directory, name, code, entries, module=None):
    """A package as pip leaves it: a module, and what says that it is there."""
    module = module or name.replace("-", "_")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{module}.py").write_text(textwrap.dedent(code))
    about = directory / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = "\n".join(f"{key} = {value}" for key, value in entries.items())
    (about / "entry_points.txt").write_text(f"[seamark.methodologies]\n{lines}\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory of installed packages."""
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    before = set(sys.modules)
    yield directory
    for name in set(sys.modules) - before:
        del sys.modules[name]


def loaded(site):
    return load([str(site)])


def test_ours_are_always_there(site):
    registry = loaded(site)
    assert [each.methodology.id for each in registry] == list(OWN)
    assert not registry.faults
    assert registry.get("no such thing").id == "native"


def test_an_installed_one_is_found_as_a_class_or_an_object(site):
    install(site, "seamark-kanban", SOUND, {"kanban": "seamark_kanban:Kanban"})
    other = SOUND.replace('"kanban"', '"flow"').replace('"card"', '"stream"')
    install(site, "seamark-flow", other, {"flow": "seamark_flow:instance"})
    registry = loaded(site)
    assert {"kanban", "flow"} < {each.methodology.id for each in registry}
    assert registry.get("kanban").name == "Kanban"
    assert {"card", "stream", "test_case"} < set(registry.types())
    assert {each.distribution for each in registry} == {
        "",
        "seamark-kanban 1.2",
        "seamark-flow 1.2",
    }
    assert not registry.faults


@pytest.mark.parametrize(
    ("code", "value", "said"),
    [
        ("raise RuntimeError('no luck')", "broken_one:X", "no luck"),
        ("import sys; sys.exit(3)", "broken_one:X", "SystemExit"),
        ("this is no python", "broken_one:X", "SyntaxError"),
        ("X = 3", "broken_one:X", "AttributeError"),
        ("X = 3", "broken_one:Y", "AttributeError"),
        ("", "no_such_module:X", "cannot be found"),
        ("class X:\n    id = 'x'", "broken_one:X", "has no phase_of"),
        (SOUND.replace('"kanban"', '"native"'), "broken_one:Kanban", "'native' is taken"),
        (SOUND.replace('"card"', '"gotcha"'), "broken_one:Kanban", "'gotcha' exists already"),
        (SOUND.replace('"card"', '"test_case"'), "broken_one:Kanban", "exists already"),
        ("class X:\n    def __init__(self): raise MemoryError", "broken_one:X", "MemoryError"),
    ],
)
def test_one_that_cannot_be_used_is_named_and_the_others_are_used(site, code, value, said):
    install(site, "broken-one", code, {"broken": value})
    install(site, "seamark-flow", SOUND.replace("kanban", "flow").replace("card", "s"), {
        "flow": "seamark_flow:Kanban",
    })  # fmt: skip
    registry = loaded(site)
    assert "flow" in registry
    (fault,) = registry.faults
    assert fault.plugin == "broken"
    assert fault.distribution == "broken-one 1.2"
    assert said in fault.what


def test_faults_while_it_is_asked_are_named_as_well(site):
    code = SOUND + "    \nKanban.relays = lambda self: 1 / 0\n"
    install(site, "seamark-kanban", code, {"kanban": "seamark_kanban:Kanban"})
    registry = loaded(site)
    assert not registry.faults
    assert registry.get("kanban").relays() == ()
    (fault,) = registry.faults
    assert fault.what.startswith("relays failed: ZeroDivisionError")


def test_two_of_one_id_are_one_and_a_fault(site):
    install(site, "a-one", SOUND, {"kanban": "a_one:Kanban"})
    install(site, "b-one", SOUND, {"kanban": "b_one:Kanban"})
    registry = loaded(site)
    assert len([each for each in registry if each.methodology.id == "kanban"]) == 1
    assert len(registry.faults) == 1


def hostile(directory):
    """A project that would like to be loaded."""
    mark = directory / "was here"
    code = f"open({str(mark)!r}, 'w').close()\n" + SOUND
    install(directory, "evil", code, {"evil": "evil:Kanban"})
    install(directory / "src", "evil2", code, {"evil": "evil2:Kanban"})
    return mark


@pytest.mark.parametrize(
    "command", [["-m", "seamark_sidecar"], ["-c", "from seamark_sidecar.cli import main; main()"]]
)
@pytest.mark.parametrize("path", ["", ".", "src", "{cwd}/src:{cwd}"])
def test_nothing_is_loaded_from_the_project_an_agent_works_on(tmp_path, command, path):
    mark = hostile(tmp_path)
    said = subprocess.run(
        [sys.executable, *command, "methodologies", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path.format(cwd=tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [each["id"] for each in json.loads(said.stdout)["methodologies"]] == list(OWN)
    assert not mark.exists()


def test_a_module_of_the_project_does_not_stand_in_for_an_installed_one(
    tmp_path, site, monkeypatch
):
    install(site, "seamark-kanban", SOUND, {"kanban": "shadowed:Kanban"}, module="shadowed")
    project = tmp_path / "project"
    mark = tmp_path / "was here"
    project.mkdir()
    (project / "shadowed.py").write_text(f"open({str(mark)!r}, 'w')\n" + SOUND)
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    registry = loaded(site)
    assert "kanban" not in registry
    (fault,) = registry.faults
    assert "current directory" in fault.what
    assert not mark.exists()


def run(*arguments, path=None):
    environ = {**os.environ, "PYTHONPATH": ""}
    if path is not None:
        # As a user's own environment has it: by a file of the interpreter's, not by PYTHONPATH.
        code = (
            "import sys; sys.path.append(sys.argv.pop(1)); "
            "from seamark_sidecar.cli import main; main()"
        )
        command = [sys.executable, "-c", code, str(path), *arguments]
    else:
        command = [sys.executable, "-m", "seamark_sidecar", *arguments]
    return subprocess.run(
        command, cwd="/", env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_command_lists_them_for_people_and_for_programs(tmp_path):
    noisy = "print('\\x1b[31mhello')\n" + SOUND.replace('"Kanban"', '"Kan\\x1b[2Jban"')
    install(tmp_path, "seamark-kanban", noisy, {"kanban": "seamark_kanban:Kanban"})
    install(tmp_path, "broken-one", "raise ValueError('no luck')", {"broken": "broken_one:X"})
    said = run("methodologies", "--json", path=tmp_path)
    answer = json.loads(said.stdout)
    assert [each["id"] for each in answer["methodologies"]] == [*OWN, "kanban"]
    assert answer["methodologies"][0]["phases"]["qa_fix"] == "refine"
    assert answer["methodologies"][0]["relays"][2]["types"] == ["error_pattern", "requirement"]
    assert answer["methodologies"][3]["types"][0]["half_life_days"] == 90.0
    assert [each["plugin"] for each in answer["faults"]] == ["broken"]
    shown = run("methodologies", path=tmp_path)
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout
    assert "no luck" in shown.stdout


def test_the_doctor_names_a_plugin_that_fails(tmp_path):
    install(tmp_path, "broken-one", "raise ValueError('no luck')", {"broken": "broken_one:X"})
    found = {
        each["name"]: each for each in json.loads(run("doctor", "--json", path=tmp_path).stdout)
    }
    assert found["methodologies"]["state"] == "warn"
    assert "broken (broken-one 1.2): ValueError: no luck" in found["methodologies"]["what"]
    sound = {each["name"]: each for each in json.loads(run("doctor", "--json").stdout)}
    assert sound["methodologies"]["state"] == "ok"
