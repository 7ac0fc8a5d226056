"""Whatever brings text from outside, by any tool, contaminates what follows."""

import json

import pytest

from seamark_sidecar.observer.calls.use import Origin

from .sight import STEP, called, recorded, returned, watched


def after(tool, arguments, result="some text"):
    """A session in which this was done in its second step."""
    return watched(
        STEP,
        called("x", tool, json.dumps(arguments)),
        returned("x", result),
        STEP,
        recorded("Prices are in cents."),
    )


def origin_after(tool, arguments, result="some text"):
    source = after(tool, arguments, result).taint.source
    return source.origin if source is not None else None


@pytest.mark.parametrize(
    ("command", "origin"),
    [
        ("curl -s https://example.org/a", Origin.WEB),
        ("wget https://example.org/a.tgz", Origin.DOWNLOAD),
        ("cd sub && curl https://example.org | head -5", Origin.WEB),
        ("gh issue view 12", Origin.ISSUE_TRACKER),
        ("gh pr view 12 --comments", Origin.ISSUE_TRACKER),
        ("gh api repos/a/b/issues/3", Origin.ISSUE_TRACKER),
        ("git pull", Origin.DOWNLOAD),
        ("git clone https://example.org/a.git", Origin.DOWNLOAD),
        ("git fetch origin pull/7/head", Origin.DOWNLOAD),
        ("gh pr checkout 7", Origin.FOREIGN_BRANCH),
        ("git checkout origin/feature", Origin.FOREIGN_BRANCH),
        ("pip install requests", Origin.PACKAGES),
        ("python -m pip install -e .", Origin.PACKAGES),
        ("npm install", Origin.PACKAGES),
        ("yarn add left-pad", Origin.PACKAGES),
        ("cargo add serde", Origin.PACKAGES),
        ("go get example.org/x", Origin.PACKAGES),
        ("cat node_modules/a/README.md", Origin.DEPENDENCY),
        ("grep -rn foo .venv/lib/python3.11/site-packages/x.py", Origin.DEPENDENCY),
        ("sed -n 1,20p /usr/lib/python3/dist-packages/six.py", Origin.DEPENDENCY),
    ],
)
def test_commands(command, origin):
    assert origin_after("bash", {"command": command}) is origin


@pytest.mark.parametrize(
    ("tool", "arguments", "origin"),
    [
        ("WebFetch", {"url": "https://example.org"}, Origin.WEB),
        ("WebSearch", {"query": "how to"}, Origin.WEB),
        ("tavily_search", {"query": "how to"}, Origin.WEB),
        ("mcp__linear__get_issue", {"id": "7"}, Origin.UNTRUSTED_SERVER),
        ("Task", {"prompt": "look around"}, Origin.SUBAGENT),
        ("Read", {"file_path": "/r/vendor/x/y.go"}, Origin.DEPENDENCY),
        ("Grep", {"pattern": "x", "path": "/r/node_modules"}, Origin.DEPENDENCY),
    ],
)
def test_tools(tool, arguments, origin):
    assert origin_after(tool, arguments) is origin


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "pytest -q && git diff"}),
        ("bash", {"command": "git checkout main"}),
        ("bash", {"command": "git log --oneline"}),
        ("bash", {"command": "curl http://localhost:8000/health"}),
        ("bash", {"command": "cat src/vendors.py; ls"}),
        ("Read", {"file_path": "/r/src/cart.py"}),
        ("Edit", {"file_path": "/r/src/cart.py", "old_string": "a", "new_string": "b"}),
    ],
)
def test_what_is_the_projects_own_brings_nothing_in(tool, arguments):
    pad = after(tool, arguments)
    assert pad.tainted_from is None
    assert all(not each.contaminated_by for each in pad.candidates())


def test_what_follows_is_contaminated_and_says_why():
    pad = after("WebFetch", {"url": "https://example.org/page"})
    assert pad.tainted_from == 1
    (found,) = [each for each in pad.candidates() if each.content == "Prices are in cents."]
    assert found.contaminated_by == "web: https://example.org/page"
