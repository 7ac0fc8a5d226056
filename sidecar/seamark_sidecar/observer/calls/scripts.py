"""Files that a script changes when it is run, as far as its text names them."""

from __future__ import annotations

import re

LONGEST_READ = 60_000
MOST_FILES = 20

_TEXT = r"""[rbfu]{0,2}(?:"([^"\n]{1,300})"|'([^'\n]{1,300})')"""
_NAME = r"([A-Za-z_]\w{0,60})"
_WRITES = re.compile(
    # open(x, "w"), open(x, mode="a"), io.open, codecs.open
    r"\bopen\(\s{0,4}(?:" + _TEXT + "|" + _NAME + r")\s{0,4},\s{0,4}(?:mode\s{0,2}=\s{0,2})?"
    r"""["'](?:[wax]|r\+|rb\+|r\+b)[bt+]{0,2}["']"""
)
_WRITES_PATH = re.compile(
    # Path(x).write_text(...), x.write_text(...)
    r"(?:\bPath\(\s{0,4}(?:" + _TEXT + "|" + _NAME + r")\s{0,4}\)|\b" + _NAME + r")"
    r"\.(?:write_text|write_bytes|open\(\s{0,4}[\"'][wa])"
)
_WRITES_NODE = re.compile(
    r"\b(?:writeFile|writeFileSync|appendFile|appendFileSync|write_file|File\.write|file_put_contents)"
    r"\(\s{0,4}(?:" + _TEXT + "|" + _NAME + ")"
)
_IN_PLACE = re.compile(
    r"\bfileinput\.(?:input|FileInput)\(\s{0,4}(?:" + _TEXT + "|" + _NAME + r")[^)\n]{0,80}inplace"
)
_FORMS = (_WRITES, _WRITES_PATH, _WRITES_NODE, _IN_PLACE)
_ASSIGNED = re.compile(
    r"^[ \t]{0,40}(?:const |let |var )?" + _NAME
    + r"\s{0,4}=\s{0,4}(?:(?:pathlib\.)?Path\(\s{0,4})?" + _TEXT,
    re.MULTILINE,
)  # fmt: skip
_FUNCTION = re.compile(r"^[ \t]{0,40}def " + _NAME + r"\(([^)\n]{0,300})\)", re.MULTILINE)
_LOOP = re.compile(r"\bfor " + _NAME + r" in [\[(]([^\])]{1,2000})[\])]")
_LITERAL = re.compile(_TEXT)


def changed_files(text: str) -> tuple[str, ...]:
    """The paths, each once, in the order in which the text first writes to them."""
    if len(text) > LONGEST_READ:
        text = text[:LONGEST_READ]
    found: dict[str, None] = {}
    # Variables are looked up once each.
    names: dict[str, None] = {}
    for form in _FORMS:
        for match in form.finditer(text):
            literal = match[1] or match[2]
            name = next((each for each in match.groups()[2:] if each), "")
            if literal:
                found[literal] = None
            elif name and name not in names and len(names) < MOST_FILES:
                names[name] = None
                found.update(dict.fromkeys(_values(name, text)))
            if len(found) >= MOST_FILES:
                return tuple(found)[:MOST_FILES]
    return tuple(found)


def _values(name: str, text: str) -> list[str]:
    """The paths that a variable of the script holds."""
    values = [first or second for each, first, second in _ASSIGNED.findall(text) if each == name]
    for each, listed in _LOOP.findall(text):
        if each == name:
            values.extend(first or second for first, second in _LITERAL.findall(listed))
    for function, parameters in _FUNCTION.findall(text):
        names = [each.partition("=")[0].partition(":")[0].strip() for each in parameters.split(",")]
        if name in names:
            values.extend(_arguments(function, names.index(name), text))
    return values[:MOST_FILES]


def _arguments(function: str, position: int, text: str) -> list[str]:
    """What is handed to a function at this place, where it is a plain text."""
    if position > 3:
        return []
    skipped = r"(?:[^,()\n]{1,200},\s{0,20}){" + str(position) + "}"
    call = re.compile(r"(?<!def )\b" + function + r"\(\s{0,20}" + skipped + _TEXT)
    return [first or second for first, second in call.findall(text)]
