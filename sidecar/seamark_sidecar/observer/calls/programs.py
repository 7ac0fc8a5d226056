"""What programs on a command line do: tables, by the name of the program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from seamark_sidecar.observer.calls.use import Action, Origin


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# They say nothing of what the agent is after.
QUIET = _words(
    ". : [ [[ alias bind break cd clear continue date declare dirs echo exit export false hash"
    " hostname local popd printf pushd pwd read readonly return reset set shift shopt sleep source"
    " sync test trap true type typeset ulimit umask unalias unset wait whoami yes"
)
# They show files.
SHOWS = _words(
    "bat batcat cat head less more nl tac tail view wc xxd od hexdump strings jq yq zcat column"
    " sort uniq cut tr rev paste fold fmt expand unexpand diff colordiff icdiff base64 glow"
)
# Those of them that, with a redirection, make a file out of what they show.
MAKES = _words(
    "bat cat head tail tac nl sed awk gawk sort uniq cut tr jq yq paste echo printf base64 envsubst"
    " fold fmt expand gunzip zcat"
)
# Their first plain word is a script, not a file.
SCRIPTED = _words("awk gawk mawk jq yq tr")
SEARCHES_TEXT = _words("grep egrep fgrep zgrep rg ag ack ripgrep ugrep pt search_dir search_file")
SEARCHES_FILES = _words("find fd fdfind ls tree exa eza dir locate du find_file gfind vdir")
VERSION_CONTROL = _words("git hg svn jj bzr fossil tig gitk")
# They talk to a tracker of issues and requests; the next word says what about.
TRACKERS = _words("gh glab hub jira linear tea")
# They fetch from an address.
FETCHERS = _words(
    "curl wget http https xh aria2c lynx w3m links elinks httpie curlie monolith youtube-dl yt-dlp"
)
# They copy from other machines.
COPIERS = _words("scp sftp rsync rclone ftp")
# They start what follows them; `*` takes that many words of its own.
WRAPPERS: Mapping[str, int] = MappingProxyType({
    "sudo": 0, "env": 0, "time": 0, "nohup": 0, "command": 0, "exec": 0, "builtin": 0,
    "stdbuf": 0, "unbuffer": 0, "nice": 0, "ionice": 0, "setsid": 0, "doas": 0, "caffeinate": 0,
    "timeout": 1, "gtimeout": 1, "xvfb-run": 0, "npx": 0, "bunx": 0, "uvx": 0, "pnpx": 0,
    "dotenv": 0, "direnv": 0, "catchsegv": 0, "faketime": 1, "chronic": 0,
    "winpty": 0, "strace": 0,
})  # fmt: skip
# Their own options that take a word.
WRAPPER_OPTIONS = _words(
    "-n -u -g -s -k -c -C -o -e -i -p -I -L -P -d -w --signal --kill-after --user --package --with"
    " --env-file --group --extra --python --project --directory --name --workdir --env"
)
# Two words that start what follows them.
RUNNERS_OF = frozenset({
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"),
    ("rye", "run"), ("conda", "run"), ("mamba", "run"), ("micromamba", "run"), ("pixi", "run"),
    ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"),
    ("yarn", "exec"), ("docker", "exec"), ("podman", "exec"), ("pipx", "run"), ("mise", "exec"),
    ("mise", "x"), ("asdf", "exec"), ("direnv", "exec"), ("nix", "run"), ("coverage", "run"),
    ("dotenv", "run"), ("bun", "x"), ("rbenv", "exec"), ("pyenv", "exec"),
})  # fmt: skip
SHELLS = _words("bash sh zsh dash ksh fish ash")
INTERPRETERS = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|ipython[0-9]?|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua"
    r"|julia|Rscript|groovy|osascript"
)

# Test runners that are programs of their own.
TEST_PROGRAMS = _words(
    "pytest py.test tox nox nosetests nose2 trial stestr ward behave robot green jest vitest mocha"
    " ava tap karma jasmine rspec minitest phpunit pest paratest ctest gotestsum ginkgo bats prove"
    " busted testem wtr uvu tape runtests runtests.py cucumber detox xctest"
)
# The word after a program that makes it a run of tests.
TEST_VERBS: Mapping[str, frozenset[str]] = MappingProxyType({
    "go": _words("test"),
    "cargo": _words("test nextest t"),
    "deno": _words("test"),
    "bun": _words("test"),
    "dotnet": _words("test"),
    "swift": _words("test"),
    "flutter": _words("test"),
    "dart": _words("test"),
    "mix": _words("test"),
    "zig": _words("test"),
    "bazel": _words("test"),
    "bazelisk": _words("test"),
    "stack": _words("test"),
    "cabal": _words("test"),
    "playwright": _words("test"),
    "cypress": _words("run"),
    "ng": _words("test"),
    "rails": _words("test"),
    "meson": _words("test"),
    "forge": _words("test"),
    "hardhat": _words("test"),
    "xcodebuild": _words("test"),
    "sbt": _words("test"),
    "lein": _words("test"),
    "artisan": _words("test"),
    "manage.py": _words("test"),
    "setup.py": _words("test"),
    "hatch": _words("test"),
    "buck": _words("test"),
    "buck2": _words("test"),
    "pants": _words("test"),
    "nx": _words("test"),
    "turbo": _words("test"),
    "react-scripts": _words("test"),
})  # fmt: skip
TEST_MODULES = _words("pytest unittest nose nose2 tox nox doctest trial green ward stestr django")
# They run tasks that the project names; the words are those after which a task's name follows.
TASK_RUNNERS: Mapping[str, frozenset[str]] = MappingProxyType({
    "make": _words(""), "gmake": _words(""), "ninja": _words(""), "just": _words(""),
    "task": _words(""), "rake": _words(""), "gulp": _words(""), "grunt": _words(""),
    "invoke": _words(""), "inv": _words(""), "poe": _words(""), "doit": _words(""),
    "npm": _words("run run-script"), "yarn": _words("run"), "pnpm": _words("run"),
    "bun": _words("run"), "composer": _words("run run-script"), "mise": _words("run r"),
    "mvn": _words(""), "mvnw": _words(""), "gradle": _words(""), "gradlew": _words(""),
    "ant": _words(""), "nx": _words("run"), "turbo": _words("run"), "lerna": _words("run"),
    "pdm": _words("run"), "hatch": _words("run"), "rye": _words("run"), "deno": _words("task"),
    "mage": _words(""), "earthly": _words(""), "wireit": _words(""),
})  # fmt: skip
# Pieces of a task's name that say it runs tests.
TEST_TASKS = _words("test tests t check spec specs unit integration e2e verify pytest jest vitest")
# `check` and `verify` are tests only to these.
TASKS_THAT_CHECK = _words("make gmake ninja gradle gradlew mvn mvnw")
# Scripts whose names say that they run the project's tests.
TEST_SCRIPTS = re.compile(
    r"(?:run[-_]?)?(?:all[-_]?)?(?:unit[-_]?)?tests?(?:[-_]?(?:all|unit|suite|runner))?(?:\.(?:sh|py|js|rb|pl))?"
)

# Package managers, with the words after which they talk to a registry.
PACKAGE_VERBS: Mapping[str, frozenset[str]] = MappingProxyType({
    "pip": _words("install download show search index wheel"),
    "pip3": _words("install download show search index wheel"),
    "uv": _words("add sync lock pip tool"),
    "poetry": _words("add install update show search lock"),
    "pipenv": _words("install update lock sync"),
    "pdm": _words("add install update sync"),
    "pipx": _words("install upgrade inject"),
    "conda": _words("install create search update env"),
    "mamba": _words("install create search update env"),
    "npm": _words("install i ci add view info show search audit outdated update docs create init"),
    "yarn": _words("add install info up upgrade audit create"),
    "pnpm": _words("add install i info view update audit outdated create"),
    "bun": _words("add install i update create"),
    "gem": _words("install search info specification update fetch"),
    "bundle": _words("install update info add"),
    "cargo": _words("add install search update fetch info"),
    "go": _words("get install"),
    "apt": _words("install update search show upgrade"),
    "apt-get": _words("install update upgrade source download"),
    "apt-cache": _words("search show policy"),
    "yum": _words("install update search info"),
    "dnf": _words("install update search info"),
    "apk": _words("add update search info"),
    "pacman": _words("-S -Sy -Syu -Ss -Si"),
    "brew": _words("install info search update upgrade"),
    "choco": _words("install search info"),
    "winget": _words("install search show"),
    "nix-env": _words("-i -iA -qa"),
    "composer": _words("require install update show search"),
    "dotnet": _words("add restore"),
    "nuget": _words("install list search"),
    "mix": _words("deps.get deps.update hex.info"),
    "luarocks": _words("install search show"),
    "cpan": _words("-i install"),
    "pod": _words("install update search"),
    "opam": _words("install show search update"),
    "helm": _words("install pull repo search show"),
    "docker": _words("pull search"),
    "podman": _words("pull search"),
})  # fmt: skip
DOWNLOAD_VERBS: Mapping[str, frozenset[str]] = MappingProxyType({
    "aws": _words("s3"),
    "gsutil": _words("cp rsync cat"),
    "gcloud": _words("storage"),
    "az": _words("storage"),
    "huggingface-cli": _words("download"),
    "hf": _words("download"),
    "kaggle": _words("datasets competitions"),
    "dvc": _words("pull fetch get"),
})  # fmt: skip

# Options that take the next word, where that word could be taken for a file.
VALUED: Mapping[str, frozenset[str]] = MappingProxyType({
    "head": _words("-n -c --lines --bytes"),
    "tail": _words("-n -c --lines --bytes"),
    "nl": _words("-b -v -w -s -n -i"),
    "cut": _words("-d -f -c -b"),
    "sort": _words("-k -t -o -S -T"),
    "jq": _words("--arg --argjson --slurpfile --indent"),
    "awk": _words("-F -v -f -i"),
    "gawk": _words("-F -v -f -i"),
    "xxd": _words("-l -s -c"),
    "bat": _words("-r --line-range -l --language --style -H"),
    "grep": _words(
        "-A -B -C -m -e -f -d -D --include --exclude --exclude-dir --color --max-count --regexp"
    ),
    "rg": _words(
        "-A -B -C -m -e -f -g -t -T -j -r --glob --type --type-not --max-count --regexp --sort"
        " --max-depth --iglob -d --replace --context --engine -M --max-columns"
    ),
    "ag": _words("-A -B -C -m -G -p --ignore --ignore-dir --depth --file-search-regex"),
    "find": _words(""),
    "fd": _words("-e -t -E -d --extension --type --exclude --max-depth -x -X -c"),
    "ls": _words("-I --ignore -w"),
    "tree": _words("-L -I -P -o --filelimit"),
    "du": _words("-d --max-depth"),
    "pytest": _words(
        "-k -m -n -p -c -o -W -r --tb --maxfail --rootdir --confcutdir --timeout --durations"
        " --junitxml --cov --cov-report --override-ini --log-level --import-mode --deselect"
        " --ignore --basetemp --capture --numprocesses"
    ),
    "go": _words("-run -count -timeout -tags -bench -cpu -parallel -coverprofile -o -v=x -ldflags"),
    "git": _words("-m -F -C -c --author --date -n -S -G --format --pretty -L -U --since --until"),
    "curl": _words(
        "-H -X -d -o -u -A -b -c -e -F -m -w -T -x --header --request --data --output --user"
        " --max-time --write-out --data-raw --data-binary --cookie --connect-timeout --retry"
    ),
    "wget": _words("-O -o -P -t -T -U --header --timeout --tries --user-agent"),
    "python": _words("-W -X"),
    "cp": _words("-t --target-directory -S"),
    "mv": _words("-t --target-directory -S"),
    "patch": _words("-p -i -d -o -r -F"),
    "tee": _words(""),
    "tox": _words("-e -c"),
    "nox": _words("-s -e -k -t -f"),
    "make": _words("-C -f -j -I -o"),
})  # fmt: skip
ALIASES: Mapping[str, str] = MappingProxyType({
    "egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ugrep": "grep", "ripgrep": "rg",
    "ack": "ag", "pt": "ag", "fdfind": "fd", "gfind": "find", "batcat": "bat", "gsed": "sed",
    "gawk": "awk", "mawk": "awk", "py.test": "pytest", "gmake": "make", "exa": "ls", "eza": "ls",
    "dir": "ls", "vdir": "ls", "view": "less",
})  # fmt: skip

# The most telling first: a call is what the first of its parts in this list is.
PRECEDENCE = (
    Action.EDIT,
    Action.WRITE,
    Action.TEST,
    Action.WEB,
    Action.VCS,
    Action.UI,
    Action.RUN,
    Action.SEARCH_TEXT,
    Action.READ,
    Action.SEARCH_FILES,
    Action.OTHER,
)
# The same for where outside text came from.
ORIGINS = (
    Origin.WEB,
    Origin.ISSUE_TRACKER,
    Origin.DOWNLOAD,
    Origin.FOREIGN_BRANCH,
    Origin.PACKAGES,
    Origin.DEPENDENCY,
)
