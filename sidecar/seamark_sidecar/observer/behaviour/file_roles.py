"""What part a file plays, as far as its name tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

# What the settings in a file are for, by its name.
CONFIG_NAMES: Mapping[str, str] = MappingProxyType({
    "package.json": "package_json",
    "pyproject.toml": "python",
    "setup.cfg": "python",
    "setup.py": "python",
    "tox.ini": "python",
    "noxfile.py": "python",
    "pytest.ini": "python",
    "mypy.ini": "python",
    "pipfile": "python",
    "manifest.in": "python",
    ".flake8": "lint",
    ".pylintrc": "lint",
    "pylintrc": "lint",
    "ruff.toml": "lint",
    ".ruff.toml": "lint",
    ".golangci.yml": "lint",
    ".golangci.yaml": "lint",
    ".editorconfig": "lint",
    ".pre-commit-config.yaml": "lint",
    "go.mod": "go",
    "go.work": "go",
    "cargo.toml": "cargo",
    "gemfile": "ruby",
    "composer.json": "php",
    "pom.xml": "jvm",
    "build.gradle": "jvm",
    "build.gradle.kts": "jvm",
    "settings.gradle": "jvm",
    "cmakelists.txt": "build",
    "makefile": "build",
    "justfile": "build",
    "mise.toml": "build",
    ".mise.toml": "build",
    "taskfile.yml": "build",
    "dockerfile": "container",
    "docker-compose.yml": "container",
    "docker-compose.yaml": "container",
    "compose.yaml": "container",
    "biome.json": "biome",
    "turbo.json": "build",
    "lerna.json": "build",
    "deno.json": "typescript",
    ".gitlab-ci.yml": "ci",
    ".travis.yml": "ci",
    "azure-pipelines.yml": "ci",
    ".goreleaser.yaml": "release",
    ".goreleaser.yml": "release",
})  # fmt: skip
# And by the shape of its name or path.
_CONFIG_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("tsconfig", re.compile(r"(?:^|/)(?:ts|js)config(?:\.[\w-]{1,30})?\.json$")),
    ("vite", re.compile(r"(?:^|/)[\w.-]{0,30}vite\.config\.\w{1,4}$")),
    ("tailwind", re.compile(r"(?:^|/)tailwind\.config\.\w{1,4}$")),
    ("env", re.compile(r"(?:^|/)\.env(?:\.[\w.-]{1,30})?$")),
    ("lint", re.compile(
        r"(?:^|/)(?:\.eslintrc|\.prettierrc|\.stylelintrc|eslint\.config)[\w.]{0,10}$")),
    ("ci", re.compile(r"(?:^|/)\.(?:github/workflows|circleci)/[\w.-]{1,60}\.ya?ml$")),
    ("python", re.compile(r"(?:^|/)requirements[\w.-]{0,30}\.(?:txt|in)$")),
    ("container", re.compile(r"(?:^|/)dockerfile\.[\w.-]{1,30}$")),
    ("build", re.compile(
        r"(?:^|/)(?:jest|webpack|rollup|babel|next|nuxt|svelte|astro|vitest|playwright|metro|"
        r"postcss|esbuild|tsup)\.config\.\w{1,4}$")),
)  # fmt: skip
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|e2e|integration_tests?)/"
    r"|(?:^|/)(?:test_[^/]{1,100}|conftest)\.py$"
    r"|[^/]_test\.\w{1,4}$|\.(?:test|spec)\.\w{1,4}$|[^/](?:Test|Tests|IT|Spec)\.(?:java|kt|cs|scala)$"
    r"|[^/]_spec\.rb$"
)
_CODE = re.compile(
    r"\.(?:py|pyi|pyx|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|groovy|clj|cs|fs|vb|c|h|cc|cpp|"
    r"cxx|hpp|hh|m|mm|swift|dart|rb|erb|php|pl|pm|lua|r|jl|ex|exs|erl|hs|ml|sh|bash|zsh|ps1|sql|proto|"
    r"graphql|css|scss|less|html?|jinja2?|tf|sol|zig|nim)$",
    re.IGNORECASE,
)
_GENERATED = re.compile(
    r"(?:^|/)(?:_?build(?:_\w{1,30})?|dist|out|target|coverage|htmlcov|node_modules|__pycache__|\.\w{1,20}_cache)/"
    r"|\.(?:log|min\.js|map|snap|lock)$"
)
# How agents call the files that they make for themselves and throw away.
_SCRATCH = re.compile(
    r"^(?:repro\w{0,12}|fix|fixe[ds]|patch\w{0,4}|apply|update|modify|edit|change|replace|insert|"
    r"debug|tmp|temp|scratch|verify|check|demo|try|poc|issue|bug|inspect|explore|script|run|test|"
    r"mre|example|experiment|sandbox|compare|trace|probe|sanity|validate|show|print|dump)"
    r"(?:[_\-.]?[\w\-.]{0,60})\.\w{1,5}$",
    re.IGNORECASE,
)
_SCRATCH_ANYWHERE = re.compile(
    r"(?:^|/)(?:tmp|temp|scratch|sandbox|repro(?:duce|duction)?)(?:[_\-.][\w.-]{0,40})?/"
    r"|(?:^|/|[_\-.])repro(?:duce|duction)?(?:[_\-.][\w\-.]{0,60})?\.\w{1,5}$",
    re.IGNORECASE,
)


def config_type(path: str) -> str:
    """What the file configures; empty when it is no configuration file."""
    lower = path.lower()
    named = CONFIG_NAMES.get(lower.rpartition("/")[2], "")
    if named:
        return named
    return next((kind for kind, shape in _CONFIG_SHAPES if shape.search(lower)), "")


def is_test(path: str) -> bool:
    """Whether it holds tests."""
    return _TEST.search(path) is not None


def is_code(path: str) -> bool:
    """Whether it is a program, or part of one, and no configuration."""
    return _CODE.search(path) is not None and not config_type(path)


def is_generated(path: str) -> bool:
    """Whether a run makes it anew."""
    return _GENERATED.search(path) is not None


def looks_like_scratch(path: str) -> bool:
    """Whether agents name so what they make for themselves; a project may, too."""
    if "/" not in path and _SCRATCH.match(path):
        return True
    return _SCRATCH_ANYWHERE.search(path) is not None


def module_of(path: str) -> str:
    """The directory of the file, at most two deep."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:2]) or "."
