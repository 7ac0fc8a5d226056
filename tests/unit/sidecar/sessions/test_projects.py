"""Which project a path or a name belongs to."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.model.project import Project
from seamark_sidecar.sessions.projects import LONGEST_NAME, REMEMBERED_FOR, Projects
from tests.unit.sidecar.promotion.sample import NOON


@dataclass(frozen=True)
class Identity:
    key: str
    name: str
    root: Path | None


class Store:
    """Keeps projects by key."""

    def __init__(self):
        self.keys = {}

    async def project(self, key, name, now):
        return self.keys.setdefault(key, Project(id=f"p_{len(self.keys)}", name=name))


@dataclass
class World:
    """A store, a clock, and the roots of checkouts."""

    root: Path | None = None
    asked: int = 0
    now = NOON

    def __post_init__(self):
        self.store = Store()
        self.projects = Projects(self.store, self.identify, lambda: self.now)

    async def identify(self, path):
        self.asked += 1
        return Identity(f"git:{self.root}", "shop", self.root)


async def test_a_name_wins_over_a_path():
    world = World()
    named, root = await world.projects.at("/r", "My  Shop\n")
    again, _ = await world.projects.at("", "My Shop")
    assert (named, root, world.asked) == (again, "/r", 0)
    assert list(world.store.keys) == ["name:My Shop"]


@pytest.mark.parametrize("path", ["", "relative/path", "/a\0b"])
async def test_the_root_of_a_named_project_is_a_real_place_or_none(path):
    assert (await World().projects.at(path, "shop"))[1] == ""


async def test_a_name_is_cut_and_holds_no_secret():
    world = World()
    await world.projects.at("", "x" * 9_999)
    await world.projects.at("", "https://me:hunter2secret99@git.example/shop")
    one, two = world.store.keys
    assert len(one) == LONGEST_NAME + len("name:")
    assert "hunter2secret99" not in two


@pytest.mark.parametrize("path", ["", "relative", "./x", "~", "/a\0b", "/" + "x" * 9_999, "C:\\x"])
async def test_a_path_that_is_no_absolute_path_is_refused_with_advice(path):
    with pytest.raises(BadRequest, match="absolute path") as caught:
        await World().projects.at(path)
    assert len(str(caught.value)) < 300


async def test_git_is_not_asked_again_for_a_while(tmp_path):
    world = World(root=tmp_path)
    await world.projects.at(str(tmp_path))
    await world.projects.at(str(tmp_path))
    assert world.asked == 1
    world.now += REMEMBERED_FOR + timedelta(seconds=1)
    await world.projects.at(str(tmp_path))
    assert world.asked == 2


async def test_the_root_is_named_as_the_agent_names_it(tmp_path):
    real = tmp_path / "real"
    (real / "src").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    world = World(root=real)
    assert (await world.projects.at(str(link / "src")))[1] == str(link)
    assert (await world.projects.at(str(real / "src")))[1] == str(real)


async def test_a_directory_that_is_not_there_is_its_own_root():
    assert (await World().projects.at("/nowhere/at/all"))[1] == "/nowhere/at/all"
