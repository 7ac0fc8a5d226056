"""Small operations on the words of a finding."""

from __future__ import annotations

import hashlib
import re

_WORD = re.compile(r"\w+")
# Names and words long enough to tell something; a run of any length is read once.
_TELLING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
# Starts only where a name can start, or a long word would be read again from each of its letters.
_PATH = re.compile(r"(?<![\w./-])[\w./-]{0,200}\w\.[A-Za-z]\w{0,8}\b")
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_TOKEN = re.compile(r"[A-Za-z_]\w+(?:\(\))?")
LONGEST_NAME = 80
# Endings of names that are files rather than attributes or the ends of sentences.
FILE_ENDINGS = frozenset(
    """
    bash bat c cc cfg clj cmake cpp cs css csv cu cxx dart dockerfile ejs elm env erb ex exs
    feature gemspec go gradle graphql groovy h hbs hcl hpp hs html htm inc ini ipynb java jl js
    json jsonl jsx kt kts less lock log lua m md mdx mjs mk ml mod nix php pl plist po pot proto
    ps1 py pyi pyx r rake rb rs rst sass scala scss sh sln sql sum svelte svg swift tex tf toml
    ts tsx txt vue wsgi xml xsd yaml yml zig zsh
    """.split()
)


def one_line(text: str) -> str:
    """The text without line breaks and double spaces."""
    return " ".join(text.split())


def telling_words(text: str) -> list[str]:
    """The names and longer words of the text in lower case, in order."""
    return _TELLING.findall(text.lower())


def paths_in(text: str) -> tuple[str, ...]:
    """What looks like the path or the name of a file, each once."""
    if "." not in text:
        return ()
    found = (match.removeprefix("./").lstrip("/") for match in _PATH.findall(text))
    return tuple(
        dict.fromkeys(path for path in found if path.rpartition(".")[2].lower() in FILE_ENDINGS)
    )


def names_in(text: str) -> tuple[str, ...]:
    """What stands in code quotes or is written like a name in code, each once."""
    quoted = _QUOTED.findall(text) if "`" in text else []
    # Most words are plain ones, and are told by this first look.
    odd = [
        token
        for token in _TOKEN.findall(text)
        if not token[1:].islower() or token[-1] == ")" or "_" in token
    ]
    return tuple(dict.fromkeys((*quoted, *filter(_is_name, odd))))


def _is_name(token: str) -> bool:
    """Whether no plain word is written so: `snake_case`, `camelCase`, `call()`."""
    if len(token) > LONGEST_NAME:
        return False
    if token.endswith(")") or "_" in token:
        return True
    rest = token[1:]
    return not rest.islower() and not token.isupper() and not rest.isdigit()


def finding_key(kind: str, text: str) -> str:
    """A name that the same words give in any session, whatever their case and punctuation."""
    words = " ".join(_WORD.findall(text.lower())) or text
    return f"{kind}:{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:16]}"
