"""Finds secrets in text and takes them out before anything is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """Where a secret stands in a text; `rule` names what kind it is."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets."""

    text: str
    # How many values were replaced.
    count: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret."""

    name: str
    # Spans in order, in time linear in the text whatever it holds.
    find: Callable[[str], Iterable[Span]]
    # Lower-case; a text with none of them is not searched. For what ignores case: a pattern that
    # starts with fixed text is as fast by itself.
    needles: tuple[bytes, ...] = ()


def find_secrets(text: str) -> tuple[SecretSpan, ...]:
    """The secrets in a text, in order; where two rules overlap, one span covers both."""
    return tuple(SecretSpan(rule, start, end) for start, end, rule in _found(text))


def redact(text: str) -> Redacted:
    """The text with each secret replaced by `[redacted:RULE]`; doing it twice changes nothing."""
    count = 0
    # Taking a secret out can bring its neighbours together into another one; each further round
    # needs a find in the one before, and real text needs one.
    for _ in range(4):
        found = _found(text)
        if not found:
            break
        count += len(found)
        text = _without(text, found)
    return Redacted(text, count)


# A find is a plain tuple of start, end and rule: a hostile text has hundreds of thousands.
_Find = tuple[int, int, str]


def _found(text: str) -> list[_Find]:
    lowered = text.encode("utf-8", "surrogatepass").lower()
    found = [
        (start, end, rule.name)
        for rule in RULES
        if not rule.needles or _has_any(lowered, rule.needles)
        for start, end in rule.find(text)
    ]
    return _merged(found) if len(found) > 1 else found


def _has_any(text: bytes, needles: tuple[bytes, ...]) -> bool:
    # A loop, because any() with a generator costs more than the search itself.
    for needle in needles:  # noqa: SIM110
        if needle in text:
            return True
    return False


def _merged(found: list[_Find]) -> list[_Find]:
    found.sort()
    merged = found[:1]
    for start, end, rule in found[1:]:
        last_start, last_end, last_rule = merged[-1]
        if start >= last_end:
            merged.append((start, end, rule))
        elif end > last_end:
            # The one that reaches further out gives the name.
            merged[-1] = (last_start, end, rule if start == last_start else last_rule)
    return merged


def _without(text: str, found: list[_Find]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, rule in found:
        pieces += (text[position:start], f"[redacted:{rule}]")
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def _matches(
    pattern: str, accept: Callable[[str], bool] | None = None
) -> Callable[[str], list[Span]]:
    """Finds what the group `secret` of a pattern matches, or all of it when there is none.

    To stay linear, a pattern starts with fixed text, and what follows is bounded, or cannot run
    past the next place where that text occurs, or cannot be given back.
    """
    compiled = re.compile(pattern, re.ASCII)
    group = "secret" if "secret" in compiled.groupindex else 0

    def find(text: str) -> list[Span]:
        found = compiled.finditer(text)
        return [match.span(group) for match in found if accept is None or accept(match[group])]

    return find


# --- private keys ---------------------------------------------------------------------------

_KEY_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# The body of a block that was cut: lines of base64, with real or escaped line ends.
_KEY_BODY = re.compile(r"(?:(?:\s|\\{1,7}[nrt])*+[A-Za-z0-9+/=]{16,}+)*+", re.ASCII)
_LONGEST_KEY = 16 * 1024


def _private_keys(text: str) -> Iterator[Span]:
    footer = -1
    position = 0
    while header := _KEY_HEADER.search(text, position):
        if footer < header.end():
            footer = text.find("-----END ", header.end())
            if footer < 0:
                footer = len(text) + _LONGEST_KEY
        position = _end_of_key(text, header.end(), footer)
        yield header.start(), position


def _end_of_key(text: str, body: int, footer: int) -> int:
    if footer - body <= _LONGEST_KEY:
        dashes = text.find("-----", footer + 9, footer + 64)
        if dashes >= 0:
            return dashes + 5
    match = _KEY_BODY.match(text, body)
    return match.end() if match else body


# --- values given to a name that says it is a password ----------------------------------------

# `dbPassword`, `DB_PASSWORD`, `"password"`, `environ["PASSWORD"]`, `--password`, `password: str =`;
# not `password_hash`, `password_field`, `passwordless`.
_NAMED = re.compile(
    r"""(?P<name>[Pp][Aa][Ss][Ss](?:[Ww](?:[Oo][Rr])?[Dd]|[Pp][Hh][Rr][Aa][Ss][Ee])|[Pp][Ww][Dd])
        [0-9]?
        (?:\\{0,3}["'`])? \]?
        (?P<operator>
            [ \t]{0,8} : [ \t]{0,8} [A-Za-z_][\w.\[\]|\ \t]{0,40}+ = (?!=)
          | \*{0,2} [ \t]{0,8} (?: := | => | ={1,3} | : ) \*{0,2}
          | (?=[ ])
        )
        [ \t]{0,8}+""",
    re.VERBOSE | re.ASCII,
)
_QUOTE = re.compile(r"""[bBfFrRuU]{0,2}(?P<quote>\\{0,7}["'`])""")
_BARE = re.compile(r"""[^\s"'`\\,;&)\]}<>|]{1,256}+""")
_LONGEST_VALUE = 256

# Skipped, because code and documents are full of them:
#   the empty value; a value in words, unless it is a passphrase ("must be at least 8 characters");
#   a value that stands for another: $NAME, ${NAME}, {name}, {{ name }}, <name>, %s, %(name)s, ****;
#   an example that says so: "password", "changeme", "string";
#   and when there are no quotes: names, types and constants (str, None, user_password), attributes,
#   subscripts and calls (settings.password, environ["X"], get_password()), comparisons, paths,
#   anything shorter than 6, or without a digit or a sign that names do not have.
# PASSWORD=word, with no space, is how shells and .env files write: there a bare word counts.
_STANDS_FOR_ANOTHER = re.compile(
    r"\[redacted:|\$[A-Za-z_{(]|\{|<|%[(sdr{]|\*{3}|\.{3}|•|x{3,}\Z|X{3,}\Z", re.ASCII
)
_EXAMPLES = frozenset({
    "password", "passwd", "passphrase", "pwd", "pass", "secret", "example", "placeholder",
    "hidden", "masked", "redacted",
    "changeme", "change_me", "change-me", "your_password", "your-password", "yourpassword",
    "my_password", "mypassword",
    "none", "null", "nil", "undefined", "true", "false", "required", "optional", "any", "unknown",
    "void", "object",
    "string", "str", "text", "bytes", "bool", "number", "int", "int32", "int64", "uint32",
    "uint64", "float32", "float64", "varchar",
    "sha1", "sha256", "sha512", "md5", "argon2", "argon2id", "bcrypt", "scrypt", "pbkdf2",
    "base64", "utf8", "utf-8",
})  # fmt: skip
_NAME_OF_SOMETHING = re.compile(
    r"[A-Za-z_]\w*(?:(?:\?\.|\.|->|::)\w+)+"  # an attribute
    r"|[A-Za-z_][\w.]*[\[(].*"  # a subscript or a call
    r"|\w*(?:pass|passwd|word|pwd)_?\d*",  # user_password2
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_NOT_IN_NAMES = re.compile(r"[0-9!@#$%^*~]")


def _passwords(text: str) -> Iterator[Span]:
    position = 0
    while named := _NAMED.search(text, position):
        position = named.end()
        if named["operator"] == "" and not _is_flag(text, named.start()):
            continue
        start, end, is_quoted = _value_at(text, named.end())
        value = text[start:end]
        if _is_quoted_password(named, value) if is_quoted else _is_bare_password(named, value):
            yield start, end
            position = end


def _value_at(text: str, start: int) -> tuple[int, int, bool]:
    if opening := _QUOTE.match(text, start):
        start = opening.end()
        end = start - 1
        # The closing quote is escaped as often as the opening one, and no more.
        while (end := text.find(opening["quote"], end + 1, start + _LONGEST_VALUE)) >= 0:
            if text[end - 1] != "\\":
                if "\n" in text[start:end]:
                    break
                return start, end, True
        # Never closed: cut off, or an apostrophe. What is there counts as a bare word.
    bare = _BARE.match(text, start)
    return start, bare.end() if bare else start, False


def _is_quoted_password(named: re.Match[str], value: str) -> bool:
    in_words = any(letter.isspace() for letter in value)
    return _is_real(value) and (not in_words or named["name"].lower() == "passphrase")


def _is_bare_password(named: re.Match[str], value: str) -> bool:
    if not _is_real(value):
        return False
    if named["name"].isupper() and named[0].endswith("=") and named["operator"] == "=":
        # The shell's own PWD holds a path.
        return len(value) >= 4 and "(" not in value and value[0] not in "/~."
    return (
        len(value) >= 6
        and (value[0].isalnum() or value[0] == "$")
        and _NOT_IN_NAMES.search(value.rstrip("!")) is not None
        and _NAME_OF_SOMETHING.fullmatch(value) is None
        and "==" not in named["operator"]
    )


def _is_real(value: str) -> bool:
    """Whether a value is neither empty, nor an example, nor stands for another."""
    return (
        bool(value)
        and not _STANDS_FOR_ANOTHER.match(value)
        and (value.lower().strip(".:") not in _EXAMPLES)
    )


_FLAG = re.compile(r"(?:\A|[\s\"'=])--[\w-]*\Z", re.ASCII)


def _is_flag(text: str, start: int) -> bool:
    """Whether `password` ends a word such as `--db-password`."""
    return (
        text[start - 1 : start] == "-"
        and _FLAG.search(text[max(0, start - 32) : start]) is not None
    )


# --- credentials in headers and addresses -----------------------------------------------------


def _is_token(value: str) -> bool:
    """Whether a value reads like a token and not like a word or a name."""
    has_letter = any(letter.isalpha() for letter in value)
    return has_letter and any(letter.isdigit() for letter in value)


def _is_encoded(value: str) -> bool:
    """Whether a value reads like base64 and not like a lower-case word."""
    return not value.islower() or any(letter.isdigit() for letter in value)


RULES: tuple[Rule, ...] = (
    Rule("private-key", _private_keys),
    Rule("anthropic-key", _matches(r"sk-ant-[A-Za-z0-9_-]{20,}+")),
    Rule(
        "openai-key",
        # Not after a vowel: `task-`, `disk-` and `desk-` are followed by ids. Any other letter may
        # stand before it, such as the n of an escaped line end or the m of a terminal's colour.
        _matches(
            r"sk-(?<![aeiouAEIOU]sk-)"
            r"(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{32,}+)"
        ),
    ),
    Rule("github-token", _matches(r"gh[pousr]_[A-Za-z0-9]{36,}+")),
    Rule("github-token", _matches(r"github_pat_[A-Za-z0-9_]{22,}+")),
    Rule(
        "aws-access-key-id",
        _matches(r"A[KS]IA(?<![A-Z0-9]A[KS]IA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ),
    Rule(
        "aws-secret-key",
        _matches(
            r"(?i:secret_?access_?key)\\{0,3}[\"']?\]?[ \t]{0,8}[:=]{1,2}[ \t]{0,8}\\{0,3}[\"']?"
            r"(?P<secret>[A-Za-z0-9/+=]{40,}+)"
        ),
        needles=(b"secret_access_key", b"secretaccesskey"),
    ),
    Rule(
        "authorization",
        _matches(
            r"(?i:bearer)(?:[ \t]{1,4}|%20)\\{0,3}[\"']?(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
            _is_token,
        ),
        needles=(b"bearer",),
    ),
    Rule(
        "authorization",
        _matches(
            r"(?i:authorization)\\{0,3}[\"']?\]?[ \t]{0,8}[:=][ \t]{0,8}\\{0,3}[\"']?"
            r"(?i:basic|token|digest|apikey|negotiate)[ \t]{1,4}"
            r"(?P<secret>[A-Za-z0-9._~+/=:-]{8,}+)",
            _is_encoded,
        ),
        needles=(b"authorization",),
    ),
    # Nothing in these two crosses a slash, so no stretch of text is read twice.
    Rule(
        "url-password",
        _matches(r"://[^\s/:@\"'<>\\[]*+:(?P<secret>[^\s/\"'<>\\]+)@", _is_real),
    ),
    Rule("url-token", _matches(r"://(?P<secret>[A-Za-z0-9_.~%-]{20,}+)@", _is_token)),
    Rule("password", _passwords, needles=(b"passw", b"passphrase", b"pwd")),
)
