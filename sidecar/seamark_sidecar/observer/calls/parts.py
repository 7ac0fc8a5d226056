"""What one program on a command line does, from its words."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.observer.calls import programs
from seamark_sidecar.observer.calls.patches import read_patch
from seamark_sidecar.observer.calls.scripts import changed_files
from seamark_sidecar.observer.calls.shell import Simple
from seamark_sidecar.observer.calls.use import Action, Origin, Shows, Touch

LONGEST_WRITTEN = 2_000
LONGEST_PATTERN = 300
MOST_FILES = 100

# Not a path: variables, globs, options, addresses, numbers.
_NO_PATH = re.compile(r"[$*?<>|;&{}\"'`\n\t\0]|^-|^[0-9.]+$|^$|^[+@%=]|\S://|^.{513}", re.DOTALL)
_FILE = re.compile(r"[^=:~^]*\.[A-Za-z_]\w{0,9}")
_SED_SPAN = re.compile(r"(?:^|[;\s])([0-9]{1,9})(?:,([0-9]{1,9}|\$|\+[0-9]{1,6}))?\s?[pdcaiswq{]")
_SED_OLD = re.compile(r"(?:^|[\s;0-9,$])s([/|#,@!])((?:\\.|(?!\1).){1,400}+)\1", re.DOTALL)
_AWK_SPAN = re.compile(r"NR\s?>=?\s?([0-9]{1,9})[^0-9]{1,12}NR\s?<=?\s?([0-9]{1,9})")
_LOCAL = re.compile(
    r"(?:\w{1,10}://)?(?:localhost|127\.[0-9.]+|0\.0\.0\.0|\[::1?\]|host\.docker\.internal)"
    r"(?::[0-9]{1,5})?(?:[/?#].*)?|:[0-9]{2,5}(?:/.*)?|file://.*",
    re.DOTALL,
)
_HOST = re.compile(r"(?:\w{1,10}://)?[\w.-]{1,200}\.[a-z]{2,12}(?::[0-9]{1,5})?(?:[/?#].*)?", re.I)
_PIECES = re.compile(r"[:\-_./]")
_FOREIGN = re.compile(
    r"(?:origin|upstream|fork|remotes/\w{1,60})/(?!(?:main|master|develop|HEAD)\b)\S"
)
_CURRENT = frozenset({"HEAD", "@", "--cached", "--staged"})
_TOLD = frozenset({"create", "comment", "close", "edit", "merge", "ready", "delete", "review"})


@dataclass(slots=True, kw_only=True)
class Part:
    """What one program does; paths are still as it names them."""

    # None: nothing worth telling.
    action: Action | None = None
    touches: Sequence[Touch] = ()
    named: Sequence[str] = ()
    patterns: tuple[str, ...] = ()
    places: Sequence[str] = ()
    runner: str = ""
    reference: str = ""
    origin: Origin | None = None
    gone: Sequence[str] = ()
    reverted: Sequence[str] = ()
    shows: Shows = Shows.NOTHING
    written: str = ""
    # Another directory than the shell's that its paths count from.
    directory: str = ""
    # Scripts and patches that it carries out.
    scripts: Sequence[str] = ()
    # It stands in a pipe and only passes on what comes through.
    is_filter: bool = False
    # For an editor that shows one file at a time: the file, or a span of the one that is open.
    opens: str = ""
    span: tuple[int, int] | None = None


def is_path(word: str) -> bool:
    """Whether a word can be a path as it stands."""
    return _NO_PATH.search(word) is None


def is_file(word: str) -> bool:
    """Whether a word looks like the name of a file, where it could as well be something else."""
    return _FILE.fullmatch(word) is not None and is_path(word) and ".." not in word.strip("./")


def is_local(address: str) -> bool:
    """Whether an address is one of this machine, whose text is no stranger's."""
    return _LOCAL.fullmatch(address.strip()) is not None


def part_of(simple: Simple) -> Part:
    """What the command does."""
    if not simple.words:
        part = Part()
    else:
        name = posixpath.basename(simple.words[0]) or simple.words[0]
        name = programs.ALIASES.get(name, name)
        reader = _READERS.get(name)
        if reader is None:
            named = programs.INTERPRETERS.fullmatch(name)
            reader = _any_program if named is None else _interpreter
        part = reader(name, simple.words[1:], simple)
    if simple.outputs:
        _add_outputs(part, simple)
    if simple.is_doubtful:
        # Single words may be the middle of a quotation.
        part.touches = [each for each in part.touches if "/" in each.path and is_file(each.path)]
        part.named = [each for each in part.named if "/" in each and is_file(each)]
    return part


def _add_outputs(part: Part, simple: Simple) -> None:
    made = [Touch(path, Action.WRITE) for path in simple.outputs if is_path(path)]
    if not made:
        return
    part.touches = [*part.touches, *made]
    name = posixpath.basename(simple.words[0]) if simple.words else "cat"
    if name in programs.MAKES and part.action in {None, Action.READ}:
        part.action = Action.WRITE
        part.is_filter = False
        part.written = (
            simple.document[:LONGEST_WRITTEN] or " ".join(simple.words[1:])[:LONGEST_WRITTEN]
        )


def plain_words(name: str, words: Sequence[str]) -> list[str]:
    """The words that are neither options nor their values."""
    valued = programs.VALUED.get(name, frozenset())
    plain: list[str] = []
    skip = False
    for number, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            plain.extend(words[number + 1 :])
            break
        elif word.startswith("-") and len(word) > 1:
            # `-nC 5` is `-n -C 5`.
            skip = word in valued or (word[1] != "-" and f"-{word[-1]}" in valued)
        else:
            plain.append(word)
    return plain


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with the one after it."""
    return itertools.pairwise((*words, ""))


def _paths(words: Sequence[str]) -> list[str]:
    return [word for word in words[:MOST_FILES] if is_path(word)]


def _operands(words: Sequence[str]) -> list[str]:
    """The files that are shown or changed, without the rest of a quotation that ended early."""
    paths = _paths(words)
    if len(words) < 3 or all("/" in word or is_file(word) for word in words):
        return paths
    return [path for path in paths if "/" in path and is_file(path)] or _files(words)[-1:] or paths


def _files(words: Sequence[str]) -> list[str]:
    return [word for word in words[:MOST_FILES] if is_file(word)]


def _shows(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = plain_words(name, words)
    if name in programs.SCRIPTED:
        plain = plain[1:]
    if name == "sort" and "-o" in words:
        made = [after for word, after in _pairs(words) if word == "-o" and is_path(after)]
        return Part(action=Action.EDIT, touches=[Touch(path, Action.EDIT) for path in made])
    plain = [*plain, *simple.inputs]
    if not plain:
        return Part(
            action=None if simple.is_piped or simple.document else Action.READ,
            is_filter=simple.is_piped,
            span=_count_span(name, words) if simple.is_piped else None,
        )
    first, last = _count_span(name, words) or (0, 0)
    if name == "awk":
        span = _AWK_SPAN.search(" ".join(words))
        first, last = (int(span[1]), int(span[2])) if span else (0, 0)
        if "inplace" in words:
            return Part(
                action=Action.EDIT, touches=[Touch(path, Action.EDIT) for path in _paths(plain)]
            )
    return Part(
        action=Action.READ,
        touches=[Touch(path, Action.READ, first, last) for path in _paths(plain)],
    )


def _count_span(name: str, words: Sequence[str]) -> tuple[int, int] | None:
    """The lines that `head` shows."""
    if name != "head":
        return None
    for word, after in _pairs(words):
        text = after if word in {"-n", "--lines"} else word.lstrip("-").lstrip("n").lstrip("=")
        if word.startswith("-") and text.isascii() and text.isdigit():
            return 1, int(text[:9])
    return None


def _sed(name: str, words: Sequence[str], simple: Simple) -> Part:
    scripts: list[str] = []
    plain: list[str] = []
    in_place = False
    waiting = has_script = False
    for number, word in enumerate(words):
        if waiting:
            scripts.append(word)
            waiting = False
        elif word in {"-e", "--expression", "-f", "--file"}:
            waiting = has_script = True
        elif word == "" and number and words[number - 1] == "-i":
            continue  # The sed of macOS takes the suffix as a word of its own.
        elif word.startswith("--in-place") or re.match(r"-[nErsuz]{0,4}i", word):
            in_place = True
            waiting = has_script = word.endswith("e") and not word.startswith("--")
        elif word.startswith("-") and len(word) > 1:
            waiting = has_script = has_script or word in {"-ne", "-rne", "-Ene"}
        else:
            plain.append(word)
    if not has_script and plain:
        scripts.append(plain.pop(0))
    script = "\n".join(scripts)
    span = _sed_span(script)
    if in_place:
        old = _SED_OLD.search(script)
        first, last = span or (0, 0)
        text = old[2][:LONGEST_PATTERN] if old else ""
        return Part(
            action=Action.EDIT,
            touches=[Touch(path, Action.EDIT, first, last, text) for path in _operands(plain)],
            written=script[:LONGEST_WRITTEN],
        )
    plain = [*plain, *simple.inputs]
    if not plain:
        return Part(is_filter=simple.is_piped, span=span if "-n" in words else None)
    first, last = span if span and any("n" in word for word in words[:2]) else (0, 0)
    return Part(
        action=Action.READ,
        touches=[Touch(path, Action.READ, first, last) for path in _paths(plain)],
    )


def _sed_span(script: str) -> tuple[int, int] | None:
    """From the first line that a script names to the last."""
    spans = _SED_SPAN.findall(script[:2_000])
    if not spans:
        return None
    first, end = int(spans[0][0]), spans[-1][1]
    if end == "$":
        return first, 0
    if end.startswith("+"):
        return first, int(spans[-1][0]) + int(end[1:])
    return first, int(end or spans[-1][0])


def _searches_text(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = plain_words(name, words)
    patterns: list[str] = []
    for word, after in _pairs(words):
        if word in {"-e", "--regexp"} and after:
            patterns.append(after)
        elif word.startswith("--regexp="):
            patterns.append(word[9:])
    if name == "rg" and "--files" in words:
        return Part(action=Action.SEARCH_FILES, places=_paths(plain) or ["."])
    if not patterns and "-f" not in words and plain:
        patterns.append(plain.pop(0))
    plain = [*plain, *simple.inputs]
    is_filter = simple.is_piped and not plain
    return Part(
        action=None if is_filter else Action.SEARCH_TEXT,
        patterns=tuple(pattern[:LONGEST_PATTERN] for pattern in patterns),
        places=_paths(plain) or ([] if is_filter else ["."]),
        is_filter=is_filter,
    )


def _searches_files(name: str, words: Sequence[str], simple: Simple) -> Part:
    if name == "find":
        return _find(words)
    plain = plain_words(name, words)
    patterns: list[str] = []
    if name == "fd" and plain:
        patterns.append(plain.pop(0))
    else:
        patterns.extend(word for word in plain if "*" in word)
    return Part(
        action=Action.SEARCH_FILES,
        patterns=tuple(pattern[:LONGEST_PATTERN] for pattern in patterns),
        places=_paths(plain) or ["."],
    )


def _find(words: Sequence[str]) -> Part:
    places: list[str] = []
    for word in words:
        if word.startswith(("-", "(", "!")) and word not in {"-L", "-H", "-P"}:
            break
        if not word.startswith("-"):
            places.append(word)
    patterns: list[str] = []
    for word, after in _pairs(words):
        if word in {"-name", "-iname", "-path", "-ipath", "-regex", "-wholename"} and after:
            patterns.append(after)
        elif word in {"-exec", "-execdir", "-ok"} and after:
            inner = part_of(Simple(words=tuple(words[words.index(word) + 1 :])))
            if inner.action in {Action.SEARCH_TEXT, Action.EDIT, Action.READ}:
                return Part(action=inner.action, patterns=inner.patterns, places=_paths(places))
            if inner.action is not None:
                return Part(action=inner.action)
        elif word == "-delete":
            return Part(action=Action.RUN)
    return Part(
        action=Action.SEARCH_FILES,
        patterns=tuple(pattern[:LONGEST_PATTERN] for pattern in patterns),
        places=_paths(places) or ["."],
    )


def _git(name: str, words: Sequence[str], simple: Simple) -> Part:
    directory = ""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in {"-C", "-c", "--git-dir", "--work-tree"} and rest:
            value = rest.pop(0)
            directory = value if option == "-C" else directory
    if not rest:
        return Part(action=Action.VCS, directory=directory)
    verb, args = rest[0], rest[1:]
    part = _GIT.get(verb, _git_other)(verb, args, simple)
    part.directory = directory
    if part.origin is None and any(_FOREIGN.match(word) or word == "FETCH_HEAD" for word in args):
        part.origin = Origin.FOREIGN_BRANCH
    return part


def _git_other(verb: str, args: Sequence[str], simple: Simple) -> Part:
    plain = plain_words("git", args)
    # `HEAD:src/a.py` names a file, too.
    return Part(action=Action.VCS, named=_files([word.rpartition(":")[2] for word in plain]))


def _git_search(verb: str, args: Sequence[str], simple: Simple) -> Part:
    if verb == "grep":
        return _searches_text("grep", args, Simple(words=()))
    return Part(action=Action.SEARCH_FILES, places=_paths(plain_words("git", args)) or ["."])


def _git_diff(verb: str, args: Sequence[str], simple: Simple) -> Part:
    part = _git_other(verb, args, simple)
    before = args[: args.index("--")] if "--" in args else args
    revisions = [
        word
        for word in plain_words("git", before)
        if not is_file(word) and word not in _CURRENT and not word.endswith("/") and word != "."
    ]
    if not revisions and "--no-index" not in args:
        part.shows = Shows.NAMES if "--name-only" in args else Shows.DIFF
    return part


def _git_status(verb: str, args: Sequence[str], simple: Simple) -> Part:
    return Part(action=Action.VCS, shows=Shows.STATUS)


def _git_restore(verb: str, args: Sequence[str], simple: Simple) -> Part:
    part = _git_other(verb, args, simple)
    if verb == "reset":
        part.reverted = ["."] if "--hard" in args else []
    elif verb == "restore":
        staged = "--staged" in args or "-S" in args
        if not staged or "--worktree" in args or "-W" in args:
            part.reverted = _paths(plain_words("git", args))
    elif "-b" not in args and "-B" not in args:
        after = args[args.index("--") + 1 :] if "--" in args else []
        part.reverted = _paths(after) or [
            word for word in plain_words("git", args) if is_file(word) or word == "."
        ]
    return part


def _git_apply(verb: str, args: Sequence[str], simple: Simple) -> Part:
    patch = read_patch(simple.document)
    if "--check" in args or "--stat" in args:
        return Part(action=Action.VCS)
    return Part(
        action=Action.EDIT if verb == "apply" else Action.VCS,
        touches=patch.touches,
        gone=patch.gone,
        scripts=[*_paths(plain_words("patch", args)), *simple.inputs],
        written=simple.document[:LONGEST_WRITTEN],
    )


def _git_move(verb: str, args: Sequence[str], simple: Simple) -> Part:
    part = _moves(verb, args, simple)
    part.action = Action.VCS
    return part


def _git_fetch(verb: str, args: Sequence[str], simple: Simple) -> Part:
    is_remote = verb != "submodule" or "update" in args
    address = next((word for word in plain_words("git", args) if _HOST.fullmatch(word)), "")
    return Part(
        action=Action.VCS, origin=Origin.DOWNLOAD if is_remote else None, reference=address[:500]
    )


_Reader = Callable[[str, Sequence[str], Simple], Part]
_GIT: Mapping[str, _Reader] = MappingProxyType({
    "grep": _git_search,
    "ls-files": _git_search,
    "diff": _git_diff,
    "status": _git_status,
    "checkout": _git_restore,
    "restore": _git_restore,
    "reset": _git_restore,
    "apply": _git_apply,
    "am": _git_apply,
    "mv": _git_move,
    "rm": _git_move,
    "clone": _git_fetch,
    "fetch": _git_fetch,
    "pull": _git_fetch,
    "submodule": _git_fetch,
})  # fmt: skip


def _tracker(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = plain_words(name, words)
    if plain[:2] == ["pr", "checkout"]:
        return Part(action=Action.VCS, origin=Origin.FOREIGN_BRANCH)
    if plain[:2] == ["repo", "clone"]:
        return Part(action=Action.VCS, origin=Origin.DOWNLOAD)
    if not plain or plain[0] in {"auth", "config", "alias", "help", "version", "extension"}:
        return Part(action=Action.RUN)
    return Part(
        action=Action.WEB,
        origin=None if len(plain) > 1 and plain[1] in _TOLD else Origin.ISSUE_TRACKER,
        reference=" ".join((name, *plain[:3]))[:500],
    )


def _fetcher(name: str, words: Sequence[str], simple: Simple) -> Part:
    addresses = [word for word in plain_words(name, words) if "://" in word or "." in word]
    addresses = [word for word in addresses if "://" in word or _HOST.fullmatch(word)]
    made = [
        Touch(after, Action.WRITE)
        for word, after in _pairs(words)
        if word in {"-o", "--output", "-O"} and after and is_file(after) and "://" not in after
    ]
    if all(is_local(address) for address in addresses):
        return Part(action=Action.RUN, touches=made)
    is_saved = name in {"wget", "aria2c"} or bool(made) or "-O" in words
    return Part(
        action=Action.WEB,
        touches=made,
        origin=Origin.DOWNLOAD if is_saved else Origin.WEB,
        reference=next(each for each in addresses if not is_local(each))[:500],
    )


def _copier(name: str, words: Sequence[str], simple: Simple) -> Part:
    *sources, _ = plain_words(name, words) or [""]
    is_remote = any(":" in source for source in sources)
    return Part(action=Action.RUN, origin=Origin.DOWNLOAD if is_remote else None)


def _moves(name: str, words: Sequence[str], simple: Simple) -> Part:
    """Copies, moves and removals."""
    paths = _paths(plain_words(name, words))
    if name == "rm" or name == "unlink" or name == "rmdir":
        return Part(action=Action.RUN, gone=paths)
    if name == "touch":
        return Part(action=Action.RUN, touches=[Touch(path, Action.WRITE) for path in paths])
    if len(paths) < 2:
        return Part(action=Action.RUN, named=_files(paths))
    *sources, target = paths
    is_directory = (
        target.endswith("/") or len(sources) > 1 or (not is_file(target) and is_file(sources[0]))
    )
    made = [
        Touch(posixpath.join(target, posixpath.basename(source)), Action.WRITE)
        if is_directory
        else Touch(target, Action.WRITE)
        for source in sources
    ]
    return Part(
        action=Action.RUN,
        touches=[touch for touch in made if is_file(touch.path)],
        named=_files(sources) if name == "cp" else [],
        gone=sources if name == "mv" else [],
    )


def _tee(name: str, words: Sequence[str], simple: Simple) -> Part:
    paths = _paths(plain_words(name, words))
    return Part(
        action=None if simple.is_piped else Action.WRITE,
        touches=[Touch(path, Action.WRITE) for path in paths if not path.startswith("/dev/")],
        written=simple.document[:LONGEST_WRITTEN],
        is_filter=simple.is_piped,
    )


def _patch(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = _paths(plain_words(name, words))
    text = simple.document
    if not text and name == "apply_patch":
        text = "\n".join(words)
    patch = read_patch(text, plain[0] if plain and name == "patch" else "")
    given = [after for word, after in _pairs(words) if word in {"-i", "--input"} and after]
    return Part(
        action=Action.EDIT,
        touches=patch.touches or [Touch(path, Action.EDIT) for path in _files(plain)],
        gone=patch.gone,
        scripts=[*given, *simple.inputs],
        written=text[:LONGEST_WRITTEN],
    )


def _line_editor(name: str, words: Sequence[str], simple: Simple) -> Part:
    return Part(
        action=Action.EDIT,
        touches=[Touch(path, Action.EDIT) for path in _files(plain_words(name, words))],
        written=simple.document[:LONGEST_WRITTEN],
    )


def _interpreter(name: str, words: Sequence[str], simple: Simple) -> Part:
    if name == "perl" or name == "ruby":
        in_place = _in_place_script(name, words)
        if in_place is not None:
            return in_place
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in {"-c", "-e", "--eval", "-p", "--print"} and rest:
            return _inline(rest[0], simple)
        if word == "-m" and name.startswith("py") and rest:
            return _module(rest[0], tuple(rest[1:]), simple)
        if word in {"-W", "-X", "-r", "--require", "--import", "-I"} and rest:
            rest.pop(0)
        elif word == "--test":
            return Part(action=Action.TEST, runner=f"{name} --test", named=_files(rest))
        elif word == "-":
            break
        elif not word.startswith("-"):
            return _script(name, word, tuple(rest), simple)
    if simple.document:
        return _inline(simple.document, simple)
    return Part(action=Action.RUN, scripts=_paths(simple.inputs))


def _in_place_script(name: str, words: Sequence[str]) -> Part | None:
    """`perl -pi -e` changes its files, as sed does."""
    if not any(re.match(r"-[lwanp0]{0,4}i", word) for word in words):
        return None
    plain: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word.endswith("e")
        else:
            plain.append(word)
    return Part(action=Action.EDIT, touches=[Touch(path, Action.EDIT) for path in _paths(plain)])


def _inline(code: str, simple: Simple) -> Part:
    """A script that stands on the command line itself."""
    changed = [path for path in changed_files(code) if is_path(path)]
    is_change = any(not path.startswith(("/tmp", "/dev", "/var")) for path in changed)
    return Part(
        action=Action.EDIT if is_change else Action.RUN,
        touches=[Touch(path, Action.EDIT) for path in changed],
        written=code[:LONGEST_WRITTEN] if is_change else "",
    )


def _module(module: str, words: tuple[str, ...], simple: Simple) -> Part:
    if module.partition(".")[0] in programs.TEST_MODULES:
        if module == "django" and "test" not in words:
            return Part(action=Action.RUN)
        return _tests(module.partition(".")[0], module, words)
    if module in programs.PACKAGE_VERBS:
        return _any_program(module, words, simple)
    if module == "json.tool" and simple.is_piped:
        return Part(is_filter=True)
    if module == "coverage" and words[:1] == ("run",):
        return part_of(Simple(words=("python", *words[1:])))
    return Part(action=Action.RUN, named=_files(plain_words("python", words)))


def _script(name: str, script: str, words: tuple[str, ...], simple: Simple) -> Part:
    if name in {"deno", "bun"} and not is_file(script):
        return _any_program(name, (script, *words), simple)
    base = posixpath.basename(script)
    verbs = programs.TEST_VERBS.get(base, frozenset())
    if words and words[0] in verbs:
        return _tests(f"{base} {words[0]}", "pytest", words[1:])
    if programs.TEST_SCRIPTS.fullmatch(base) and not is_new_test(script):
        part = _tests(base, "pytest", words)
        part.named = [*_files([script]), *part.named]
        return part
    if not is_path(script):
        return Part(action=Action.RUN)
    return Part(action=Action.RUN, named=[script, *_files(words)], scripts=[script])


def is_new_test(script: str) -> bool:
    """Whether a script is named as tests that agents write to run once."""
    return script in {"test.py", "tests.py", "test.js", "test.sh", "test.rb", "./test.py"}


def _tests(runner: str, program: str, words: Sequence[str]) -> Part:
    plain = plain_words(program, words)
    return Part(
        action=Action.TEST,
        runner=runner,
        named=_files([word.partition("::")[0] for word in plain]),
    )


def _any_program(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = plain_words(name, words)
    verb = plain[0] if plain else ""
    if name in programs.TEST_PROGRAMS:
        return _tests(name.removesuffix(".py"), name, words)
    if verb in programs.TEST_VERBS.get(name, ()):
        return _tests(f"{name} {verb}", name, [word for word in words if word != verb])
    if name in programs.TASK_RUNNERS:
        task = _test_task(name, plain)
        if task:
            return Part(action=Action.TEST, runner=f"{name} {task}", named=_files(plain))
    path = simple.words[0]
    if "/" in path and programs.TEST_SCRIPTS.fullmatch(name) and not is_new_test(path):
        return _tests(name, "pytest", words)
    if name in programs.QUIET and "/" not in path:
        return Part()
    registry = programs.PACKAGE_VERBS.get(name)
    if registry is not None and (verb in registry or (words and words[0] in registry)):
        return Part(action=Action.RUN, origin=_registry_origin(name, plain))
    if verb in programs.DOWNLOAD_VERBS.get(name, ()):
        return Part(action=Action.RUN, origin=Origin.DOWNLOAD)
    scripts = [path] if "/" in path and is_path(path) else []
    return Part(action=Action.RUN, named=[*scripts, *_files(plain)], scripts=scripts)


def _registry_origin(name: str, plain: Sequence[str]) -> Origin | None:
    if name in {"docker", "podman", "helm"}:
        return Origin.DOWNLOAD
    if name == "uv" and plain[:2] in (["pip", "list"], ["pip", "freeze"], ["pip", "check"]):
        return None
    return Origin.PACKAGES


def _test_task(name: str, plain: Sequence[str]) -> str:
    """The task that runs tests, if one of those asked for does."""
    verbs = programs.TASK_RUNNERS[name]
    if verbs:
        if plain and plain[0] in verbs:
            tasks = plain[1:2]
        elif name in {"npm", "yarn", "pnpm", "composer", "mise"}:
            tasks = plain[:1]
        else:
            return ""
    else:
        tasks = plain
    for task in tasks:
        if name == "mise" and plain[0] not in verbs:
            return ""
        pieces = _PIECES.split(task.removeprefix("//"))
        if any(piece in _SURE_TASKS for piece in pieces) or pieces[0] in _FIRST_TASKS:
            return task
        if name in programs.TASKS_THAT_CHECK and (
            pieces[-1] in {"check", "verify"} or pieces[-1].startswith("test")
        ):
            return task
    return ""


_SURE_TASKS = programs.TEST_TASKS - {"t", "check", "verify", "unit", "integration"}
_FIRST_TASKS = frozenset({"t", "unit", "integration"})


def _opened(name: str, words: Sequence[str], simple: Simple) -> Part:
    """SWE-agent's editor, which shows one file at a time."""
    plain = [word for word in words if word != "--"]
    if not plain or not is_path(plain[0]):
        return Part(action=Action.RUN)
    if name == "create":
        return Part(action=Action.WRITE, touches=[Touch(plain[0], Action.WRITE)], opens=plain[0])
    line = int(plain[1][:9]) if len(plain) > 1 and plain[1].isascii() and plain[1].isdigit() else 0
    return Part(action=Action.READ, touches=[Touch(plain[0], Action.READ, line, 0)], opens=plain[0])


def _open_span(name: str, words: Sequence[str], simple: Simple) -> Part:
    """Its commands on the file that is open."""
    if name == "edit":
        match = re.match(r"([0-9]{1,9}):([0-9]{1,9})", words[0]) if words else None
        if match is None:
            return Part(action=Action.RUN, named=_files(words))
        return Part(action=Action.EDIT, span=(int(match[1]), int(match[2])))
    line = int(words[0][:9]) if words and words[0].isascii() and words[0].isdigit() else 0
    return Part(action=Action.READ, span=(line, 0))


def _search_in(name: str, words: Sequence[str], simple: Simple) -> Part:
    plain = list(words)
    patterns = tuple(plain[:1])
    return Part(
        action=Action.SEARCH_FILES if name == "find_file" else Action.SEARCH_TEXT,
        patterns=patterns,
        places=_paths(plain[1:]) or ["."],
    )


def _editor(name: str, words: Sequence[str], simple: Simple) -> Part:
    """`str_replace_editor view path`, as some agents write it into their shell."""
    verb, path = (*words, "", "")[:2]
    if not is_path(path):
        return Part(action=Action.RUN)
    action = {"view": Action.READ, "create": Action.WRITE}.get(verb, Action.EDIT)
    return Part(action=action, touches=[Touch(path, action)])


_READERS: Mapping[str, _Reader] = MappingProxyType({
    **dict.fromkeys(programs.QUIET, _any_program),
    **dict.fromkeys(programs.SHOWS, _shows),
    "awk": _shows,
    "sed": _sed,
    **dict.fromkeys(programs.SEARCHES_TEXT, _searches_text),
    **dict.fromkeys(programs.SEARCHES_FILES, _searches_files),
    **dict.fromkeys(("search_dir", "search_file", "find_file"), _search_in),
    "git": _git,
    **dict.fromkeys(
        programs.VERSION_CONTROL - {"git"},
        lambda name, words, simple: Part(action=Action.VCS),
    ),
    **dict.fromkeys(programs.TRACKERS, _tracker),
    **dict.fromkeys(programs.FETCHERS, _fetcher),
    **dict.fromkeys(programs.COPIERS, _copier),
    **dict.fromkeys(("cp", "mv", "rm", "unlink", "rmdir", "touch"), _moves),
    "tee": _tee,
    "patch": _patch,
    "apply_patch": _patch,
    "applypatch": _patch,
    "ed": _line_editor,
    "ex": _line_editor,
    **dict.fromkeys(("open", "create"), _opened),
    **dict.fromkeys(("edit", "goto", "scroll_up", "scroll_down"), _open_span),
    **dict.fromkeys(("str_replace_editor", "str_replace_based_edit_tool"), _editor),
})  # fmt: skip
