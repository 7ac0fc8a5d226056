"""Paths as the project sees them."""

import pytest

from seamark_sidecar.observer.calls.paths import (
    LONGEST_PATH,
    Roots,
    is_dependency,
    is_within,
    likely_root,
    project_path,
)

ROOT = "/home/dev/shop"


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("src/cart.py", "src/cart.py"),
        ("./src//cart.py", "src/cart.py"),
        ("src/../src/cart.py", "src/cart.py"),
        ("src\\cart.py", "src/cart.py"),
        ("/home/dev/shop/src/cart.py", "src/cart.py"),
        ("/home/dev/shop/../shop/a.py", "a.py"),
        ("..cart.py", "..cart.py"),
        ("größe.py", "größe.py"),
    ],
)
def test_a_path_inside_becomes_relative(path, inside):
    assert project_path(path, ROOT) == inside


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        ".",
        "..",
        "/",
        ROOT,
        "../secrets",
        "src/../../other",
        "/etc/passwd",
        "/home/dev/shopping/a.py",
        "/home/dev/shop/../other/a.py",
        "~/.ssh/id_rsa",
        "a\0b",
        "a\nb",
        "a\x1b[31mb",
        "a‮b",
        "x" * (LONGEST_PATH + 1),
    ],
)
def test_a_path_outside_or_unprintable_is_left_out(path):
    assert project_path(path, ROOT) is None


@pytest.mark.parametrize("root", ["", "shop", "../shop"])
def test_without_a_root_an_absolute_path_is_outside(root):
    assert project_path("/home/dev/shop/a.py", root) is None
    assert project_path("a.py", root) == "a.py"


@pytest.mark.parametrize("root", ["", "shop"])
@pytest.mark.parametrize("container", ["/testbed", "/workspace", "/app", "/repo"])
def test_where_nobody_knows_the_root_a_container_has_one(root, container):
    assert project_path(f"{container}/src/a.py", root) == "src/a.py"
    assert project_path(container, root) is None
    assert project_path(f"{container}x/a.py", root) is None


def test_with_a_known_root_a_container_is_outside():
    assert project_path("/testbed/a.py", ROOT) is None


@pytest.mark.parametrize("root", ["C:\\dev\\shop", "c:/dev/shop/"])
def test_windows_paths_are_the_projects_too(root):
    assert project_path("C:\\Dev\\shop\\src\\a.py", root) == "src/a.py"
    assert project_path("D:\\dev\\shop\\a.py", root) is None
    assert project_path("C:\\dev\\shopping\\a.py", root) is None


def test_an_agent_in_a_container_sees_the_project_elsewhere():
    roots = Roots(given=ROOT)
    assert roots.place("/testbed/src/a.py") == "src/a.py"


def test_once_the_given_root_was_seen_a_container_is_outside():
    roots = Roots(given=ROOT)
    assert roots.place(f"{ROOT}/a.py") == "a.py"
    assert roots.place("/app/a.py") is None


def test_the_first_directory_that_was_worked_in_is_taken_for_the_root():
    roots = Roots()
    roots.learn("/home/dev/shop")
    roots.learn("/home/dev/other")
    assert roots.place("/home/dev/shop/src/a.py") == "src/a.py"
    assert roots.place("/home/dev/other/a.py") is None


@pytest.mark.parametrize("directory", ["/", "/tmp/x", "/usr/lib", "/home/dev", "~", "src", ""])
def test_what_belongs_to_the_system_or_a_person_is_no_root(directory):
    roots = Roots()
    roots.learn(directory)
    assert roots.learnt == ""


@pytest.mark.parametrize("directory", [f"{ROOT}/src", "/home/dev/other"])
def test_a_session_that_was_told_its_root_learns_no_other(directory):
    roots = Roots(given=ROOT)
    roots.learn(directory)
    assert roots.learnt == ""


def test_a_directory_within_a_container_is_no_root_of_its_own():
    unknown = Roots()
    unknown.learn("/testbed/src")
    assert unknown.place("/testbed/src/a.py") == "src/a.py"


def test_the_root_of_a_recorded_session_is_guessed_from_its_paths():
    paths = ["/Users/d/work/shop/src/a/b.go", "/Users/d/work/shop/src/c.go", "/tmp/x", "rel.py"]
    assert likely_root(paths) == "/Users/d/work/shop"
    assert likely_root(["/Users/d/work/shop/go.mod", "/Users/d/work/shop/x/y.go"]) == (
        "/Users/d/work/shop"
    )
    assert likely_root([]) == likely_root(["a.py", "/etc/x", ""]) == ""


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/x/i.js",
        "web/node_modules/x/i.js",
        "/usr/lib/python3.11/json/__init__.py",
        "/home/d/.venv/lib/python3.11/site-packages/x.py",
        "/home/d/go/pkg/mod/github.com/x/y@v1/a.go",
        "/home/d/.cargo/registry/src/x.rs",
    ],
)
def test_files_of_dependencies_are_known(path):
    assert is_dependency(path)


@pytest.mark.parametrize("path", ["src/a.py", "node_modules.md", "my_vendor/a.py", "docs/venv.md"])
def test_files_of_the_project_are_no_dependencies(path):
    assert not is_dependency(path)


def test_a_path_is_within_its_directory_and_its_pattern():
    assert is_within("a/b.py", "a")
    assert is_within("a/b.py", "a/b.py")
    assert is_within("test_x.py", "test_*.py")
    assert not is_within("ab/c.py", "a")
    assert not is_within("x.py", "*" * 40)
