"""The lines of an output that say what went wrong, and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seamark_sidecar.observer.results.fingerprints import ANSI
from seamark_sidecar.observer.text.wording import one_line

LONGEST_ERROR = 300
LONGEST_LINE = 300
# Errors stand at the head or at the end of an output.
HEAD = 6_000
TAIL = 10_000

# What a line that names an error holds; few others do.
_HINT = re.compile(
    r"[Ee]rror|ERR|[Ee]xception|[Ff]ail|FAIL|atal|panic|[Nn]ot found|[Nn]o such|enied|imed out|"
    r"annot|an't|nvalid|llegal|nrecognized|[Nn]o m|issing|:\d|\(\d|✗|✕|✘|×|Exit|Interrupt|"
    r"Timeout|Expired|Version|Warning|^E  |directory|fault|^[a-z_.]{1,80}\.[A-Z]"
)
_RAISED = (
    r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Failure|Warning|Exit|Interrupt|"
    r"Timeout|Expired|NotFound|Version|Missing)"
)
_QUALIFIED = r"(?:[a-z_]\w{0,60}\.){1,6}[A-Z]\w{2,60}(?=: )"
_TOOL = r"(?:(?:[\w./-]{1,80}|line \d{1,5}|\(eval\):\d{1,4}|\(eval\)): ){0,4}?"
_COMPLAINT = r"[Ff]ail|[Ee]rr|xpect|want|got|should|not\b|mismatch|timed out|issing|nvalid"
# The shapes of such lines, best first; each names the error, and the file if it can.
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # pytest's explanation.
    ("explained", re.compile(
        rf"E[ \t]{{2,20}}(?P<error>{_RAISED}\b.{{0,280}}|(?:assert|Failed:|fixture) ?.{{1,280}})")),
    # What ends a traceback.
    ("raised", re.compile(rf"(?P<error>(?:{_RAISED}|{_QUALIFIED})(?:: ?.{{0,280}}|))$")),
    ("panic", re.compile(r"(?P<error>panic: .{1,280}|thread '[^']{1,80}' panicked at .{1,200})")),
    # What a test of Go says.
    ("tested", re.compile(
        r"[ \t]{4,20}(?P<file>[\w-]{1,80}_test\.go):\d{1,7}: "
        rf"(?P<error>(?=.{{0,280}}(?:{_COMPLAINT}))\S.{{2,280}})")),
    # Compilers and linters: `file:line:column: message`, `file(line,column): message`.
    ("compiled", re.compile(
        r"(?P<file>[\w@./\\-]{1,160}\.[A-Za-z]\w{0,5})"
        r"(?::\d{1,7}(?::\d{1,5})?|\(\d{1,7},\d{1,5}\)):? (?:- )?(?:(?:fatal )?error:? ?)?"
        r"(?P<error>(?!: #)\S.{4,280})")),
    ("rust", re.compile(r"(?P<error>error\[E\d{4}\]: .{1,280})")),
    # Shells and the usual programs.
    ("shell", re.compile(
        rf"{_TOOL}"
        r"(?P<error>(?:command not found: \S{1,80})|(?:[^:\s][^:]{0,120}: )?(?:command not found|"
        r"not found|[Nn]o such file or directory|[Pp]ermission denied|[Nn]o module named .{1,120}|"
        r"illegal option .{0,60}|invalid option .{0,80}|unrecognized option .{0,80}|"
        r"no matches found: .{1,120}|can't open file .{1,200}|Is a directory|Not a directory|"
        r"directory not found|syntax error.{0,160}|cannot .{1,160}|missing .{1,120})"
        r"(?:: .{0,120})?)\s{0,9}$")),
    ("said", re.compile(
        rf"(?:npm |\[[\w-]{{1,30}}\] )?{_TOOL}"
        r"(?:fatal|error|ERROR|Error|ERR!|FATAL|Fatal error)(?: \w{2,12}\d{1,6})?[:!\s]\s{0,4}"
        r"(?P<error>\S.{2,280})")),
    # The last line that pytest has for a test.
    ("summed_up", re.compile(r"(?:FAILED|ERROR) [^\s]{1,300} - (?P<error>\S.{14,280})")),
    ("failed", re.compile(r"\s{0,8}(?:✗|✕|×|FAIL:|✘)\s{1,4}(?P<error>\S.{2,280})")),
    ("timed_out", re.compile(r"(?P<error>.{0,120}\btimed out\b.{0,120})")),
)  # fmt: skip
# Of these the last one said is the one that ended it.
_LAST_COUNTS = frozenset({"raised", "tested"})
# Said by every failure of its program, whatever the reason; or by none that matters.
_GENERIC = re.compile(
    r"exit status|exit code|exited with|task failed|command failed|failures?=|"
    r"^\d+ (?:issues?|errors?|problems?|warnings?)\b|recipe for target|script \"|build failed|"
    r"aborting|ELIFECYCLE|test failed|tests? failed|Process completed|lifecycle script|"
    r"a complete log|no tests? ran|found \d+ errors?|failed with exit|could not compile|"
    r"^in [\w<>]{1,80}$|^processing line|cannot remove|^(?:\w{1,40})?Warning\b|^note:",
    re.IGNORECASE,
)
# A linter names its rule; its complaint is the same one in whichever file.
_RULE = re.compile(r"\([a-z][a-z0-9-]{1,30}\)\s*$|^[A-Z]{1,4}\d{3,5}\b")

# Which test failed.
_TESTS = re.compile(
    r"(?:FAILED|ERROR) (?P<pytest>[\w./\\-]{1,160}\.py(?:::[^\s]{1,160})?)"
    r"|\s{0,12}--- FAIL: (?P<go>[\w/.#()=-]{1,200})"
    r"|(?:FAIL|ERROR): (?P<unittest>\w{1,100} \([\w.]{1,160}\))"
    r"|test (?P<cargo>[\w:]{1,160}) \.\.\. FAILED"
    r"|\s{0,8}● (?P<jest>\S.{1,160})"
    r"|rspec (?P<rspec>\./[\w./-]{1,160})"
)
_TEST_WORDS = ("FAIL", "ERROR", "●", "rspec")
_SECTION = re.compile(r"_{3,60} (?P<name>(?:ERROR collecting )?[\w.\[\]/:-]{1,160}) _{3,60}")
_FRAME = re.compile(
    r'\s{2,8}File "(?P<file>[^"]{1,300})", line \d{1,7}(?:, in (?P<name>[^\s]{1,100}))?'
)
_NODE_FRAME = re.compile(
    r"\s{2,8}at (?:async )?(?P<name>[\w.$<>]{1,100}) \((?P<file>[^)\s:]{1,300}):\d"
)
_FOREIGN = (
    "site-packages", "dist-packages", "/lib/python", "<frozen", "<string>", "<stdin>",
    "node_modules", "node:", "/usr/lib/", "<attrs", "<decorator", "importlib",
)  # fmt: skip
MODULE_LEVEL = "<module>"


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """What a line says."""

    error: str = ""
    # The file that the line itself names.
    file: str = ""
    # A rule of style: it is broken alike in every file.
    is_rule: bool = False


def lines_of(output: str) -> list[str]:
    """The lines to look at, cut, without colours."""
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n{output[-TAIL:]}"
    if "\x1b" in output:
        output = ANSI.sub("", output)
    return [line[:LONGEST_LINE].rstrip() for line in output.splitlines()]


def error_line(lines: Sequence[str]) -> ErrorLine:
    """The line that says best what went wrong; an empty one when none says it."""
    best, found = len(_SHAPES), ErrorLine()
    before = ""
    for line in lines:
        if line and _HINT.search(line):
            for rank, (kind, shape) in enumerate(_SHAPES[: best + 1]):
                if rank == best and kind not in _LAST_COUNTS:
                    break
                match = shape.match(line)
                if match is None:
                    continue
                error = one_line(match["error"])[:LONGEST_ERROR]
                is_below_code = kind == "raised" and before.startswith("  ")
                # A warning that is raised stands below the code that raised it.
                if _GENERIC.search(error) and not is_below_code:
                    continue
                if is_below_code and ":" not in error:
                    # What it does not say itself, the code says.
                    error = f"{error}: {one_line(before)}"[:LONGEST_ERROR]
                file = match.groupdict().get("file") or ""
                is_rule = kind == "compiled" and _RULE.search(error) is not None
                best, found = rank, ErrorLine(error, file, is_rule)
                break
        before = line
    return found


def failing_test(lines: Sequence[str]) -> str:
    """The first failing test, as its runner names it; empty when there is none."""
    for line in lines:
        if any(word in line for word in _TEST_WORDS):
            match = _TESTS.match(line)
            if match:
                return one_line(next(filter(None, match.groups()), ""))
    for line in lines:
        if line.startswith("____"):
            match = _SECTION.match(line)
            if match:
                return match["name"]
    return ""


def innermost_frame(lines: Sequence[str]) -> str:
    """The innermost `file:function` of the project that the last traceback goes through."""
    top = ""
    for line in reversed(lines):
        if line.startswith("Traceback"):
            break
        match = _FRAME.match(line) if 'File "' in line else _NODE_FRAME.match(line)
        if match is None or any(part in match["file"] for part in _FOREIGN):
            continue
        file, name = match["file"].replace("\\", "/").rpartition("/")[2], match["name"]
        if name is None:
            # Code that could not be read: there is no function yet.
            return file
        if name != MODULE_LEVEL:
            return f"{file}:{name}"
        top = top or f"{file}:{name}"
    return top
