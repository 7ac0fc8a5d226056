"""The commands that a line of shell is made of, by the grammar of bash.

Here-documents and long quotations are taken out before the grammar sees the line: the grammar needs
time that grows with the square of some inputs. What is still longer than 4 KB is read by the first
words of its commands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import tree_sitter
import tree_sitter_bash

LONGEST_PARSED = 4096  # bytes
LONGEST_READ = 200_000  # characters; nothing is looked for beyond
MOST_COMMANDS = 200
DEEPEST = 40
# Values that one loop variable is followed through.
MOST_VALUES = 12
LONGEST_QUOTE = 400

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

# What changes how the text after it is read.
_SPECIAL = re.compile(r"['\"\\\n()`]|\$\(|<<<|<<|#")
_DOCUMENT = re.compile(r"<<(-?)[ \t]*\\?(['\"]?)([A-Za-z_][\w.-]{0,60})\2")
# Stands for text that was taken out.
_TAKEN = re.compile(r"SEAMARK_TAKEN_([0-9]{1,4})_OUT")
_PIECES = re.compile(r"[\n;|&]+")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,60})\}?")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([\"\\$`\n])")
_DESCRIPTOR = re.compile(r"[0-9]+|-")


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words, as the shell would start it."""

    # The program first; empty for a redirection that stands alone.
    words: tuple[str, ...]
    # Files that its output goes to.
    outputs: tuple[str, ...] = ()
    # Files that its input comes from.
    inputs: tuple[str, ...] = ()
    # Text that its input comes from: a here-document.
    document: str = ""
    # Its input is the output of the command before it.
    is_piped: bool = False
    # It runs within the words of another.
    is_inner: bool = False
    # The line breaks the grammar somewhere: words may be parts of something else.
    is_doubtful: bool = False


# A subshell begins and ends: what it does to the directory stays within.
OPENED = Simple(words=("(",))
CLOSED = Simple(words=(")",))


def parse(text: str) -> tuple[Simple, ...]:
    """The commands in the order in which they would run; none when there are none to see."""
    text = text[:LONGEST_READ]
    taken: list[str] = []
    if "<<" in text or len(text) > LONGEST_PARSED // 2:
        text = _without_long_parts(text, taken)
    code = text.encode("utf-8", "replace")
    if len(code) > LONGEST_PARSED:
        return tuple(_by_head_words(text, taken))
    tree = _PARSER.parse(code)
    walk = _Walk(taken, is_doubtful=tree.root_node.has_error)
    walk.visit(tree.root_node, _Around())
    return tuple(walk.found) or tuple(_by_head_words(text, taken))


def _without_long_parts(text: str, taken: list[str]) -> str:
    """The text with markers for here-documents and long quotations, which go to `taken`."""
    out: list[str] = []
    # What we are in, innermost last: a quotation `"` or a bracket `(`.
    inside: list[str] = []
    waiting: list[tuple[str, bool, int]] = []
    copied = at = 0
    quote_start = 0
    while True:
        match = _SPECIAL.search(text, at)
        if match is None:
            break
        mark, start = match[0], match.start()
        at = match.end()
        quoted = bool(inside) and inside[-1] == '"'
        if mark == "\\":
            at += 1
        elif mark == "'" and not quoted:
            end = text.find("'", at)
            if end < 0:
                break
            if end - at > LONGEST_QUOTE:
                out.append(text[copied:at] + _take(text[at:end], taken))
                copied = end
            at = end + 1
        elif mark == '"':
            if quoted:
                inside.pop()
                is_long = '"' not in inside and start - quote_start > LONGEST_QUOTE
                if is_long and copied <= quote_start:
                    out.append(text[copied : quote_start + 1])
                    out.append(_take(text[quote_start + 1 : start], taken))
                    copied = start
            else:
                if '"' not in inside:
                    quote_start = start
                inside.append('"')
        elif mark == "$(" or (mark == "(" and not quoted):
            inside.append("(")
        elif mark == ")" and not quoted:
            if inside:
                inside.pop()
        elif mark == "#" and not quoted:
            if start == 0 or text[start - 1] in " \t\n;":
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
        elif mark == "<<" and not quoted:
            begun = _DOCUMENT.match(text, start)
            if begun is not None:
                out.append(text[copied:start] + "<")
                waiting.append((begun[3], bool(begun[1]), len(out)))
                out.append("")
                copied = at = begun.end()
        elif mark == "\n" and waiting:
            out.append(text[copied:at])
            for number, (name, indented, slot) in enumerate(waiting):
                # The next begins on the line after the one before it ended.
                body, at = _document(text, at + (number > 0), name, indented=indented)
                out[slot] = _take(body, taken)
            waiting.clear()
            copied = at
    for _, _, slot in waiting:
        out[slot] = _take("", taken)
    out.append(text[copied:])
    return "".join(out)


def _document(text: str, at: int, name: str, *, indented: bool) -> tuple[str, int]:
    """The body that begins here, and where the text goes on after it."""
    start = at
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        # Agents indent and trail where the shell would not allow it.
        if line.strip() == name and (indented or line.rstrip() == name):
            return text[start:at], end
        at = end + 1
    return text[start:], len(text)


def _take(body: str, taken: list[str]) -> str:
    taken.append(body)
    return f"SEAMARK_TAKEN_{len(taken) - 1}_OUT"


def _by_head_words(text: str, taken: list[str]) -> Iterator[Simple]:
    """A rough reading of what the grammar cannot or should not read."""
    for piece in _PIECES.split(text[: LONGEST_PARSED * 4], maxsplit=MOST_COMMANDS)[:MOST_COMMANDS]:
        words = piece.split(maxsplit=3)[:2]
        if words:
            yield Simple(words=tuple(_given_back(word, taken) for word in words), is_doubtful=True)


def _given_back(word: str, taken: list[str]) -> str:
    if "SEAMARK_TAKEN_" not in word:
        return word

    def text_of(match: re.Match[str]) -> str:
        number = int(match[1])
        return taken[number] if number < len(taken) else match[0]

    return _TAKEN.sub(text_of, word)


@dataclass(frozen=True, slots=True)
class _Around:
    """What surrounds a node: redirections, the pipe, values of variables."""

    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    document: str = ""
    is_piped: bool = False
    is_inner: bool = False
    depth: int = 0


_HANDLED = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})


@dataclass(slots=True)
class _Walk:
    """Goes through a tree once, in order."""

    taken: list[str]
    is_doubtful: bool = False
    found: list[Simple] = field(default_factory=list)
    # Variables whose values the line itself gives.
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def visit(self, node: tree_sitter.Node, around: _Around) -> None:
        if around.depth > DEEPEST or len(self.found) >= MOST_COMMANDS:
            return
        kind = node.type
        if kind == "command":
            self._command(node, around)
        elif kind == "pipeline":
            self._pipeline(node, around)
        elif kind == "redirected_statement":
            self._redirected(node, around)
        elif kind == "list":
            self._list(node, around)
        elif kind == "variable_assignment":
            self._assignment(node, around)
        elif kind == "for_statement":
            self._loop(node, around)
        elif kind == "subshell":
            self.found.append(OPENED)
            self._children(node, around)
            self.found.append(CLOSED)
        elif kind == "declaration_command":
            self.found.append(Simple(words=("export",), is_inner=around.is_inner))
            self._children(node, around)
        elif kind not in {"comment", "raw_string", "word", "heredoc_body"}:
            self._children(node, around)

    def _children(self, node: tree_sitter.Node, around: _Around) -> None:
        deeper = _Around(outputs=around.outputs, is_inner=around.is_inner, depth=around.depth + 1)
        for child in node.named_children:
            self.visit(child, deeper)

    def _pipeline(self, node: tree_sitter.Node, around: _Around) -> None:
        stages = [child for child in node.named_children if child.type != "comment"]
        for number, child in enumerate(stages):
            is_last = number == len(stages) - 1
            self.visit(
                child,
                _Around(
                    outputs=around.outputs if is_last else (),
                    inputs=around.inputs if number == 0 else (),
                    document=around.document if number == 0 else "",
                    is_piped=number > 0 or around.is_piped,
                    is_inner=around.is_inner,
                    depth=around.depth + 1,
                ),
            )

    def _list(self, node: tree_sitter.Node, around: _Around) -> None:
        """`a && b`: the grammar may hand it the pipe of the first, the redirection of the last."""
        parts = node.named_children
        for number, child in enumerate(parts):
            is_first, is_last = number == 0, number == len(parts) - 1
            self.visit(
                child,
                _Around(
                    outputs=around.outputs if is_last else (),
                    inputs=around.inputs if is_last else (),
                    document=around.document if is_last else "",
                    is_piped=around.is_piped and is_first,
                    is_inner=around.is_inner,
                    depth=around.depth + 1,
                ),
            )

    def _redirected(self, node: tree_sitter.Node, around: _Around) -> None:
        body = node.child_by_field_name("body")
        around = self._with_redirections(node, around)
        if body is not None:
            self.visit(body, replace(around, depth=around.depth + 1))
        elif not self.is_doubtful:
            self._add((), around)

    def _with_redirections(self, node: tree_sitter.Node, around: _Around) -> _Around:
        outputs, inputs, document = around.outputs, around.inputs, around.document
        for child in node.named_children:
            if child.type not in _HANDLED:
                continue
            if child.type == "file_redirect":
                target = child.child_by_field_name("destination")
                if target is None:
                    continue
                operator = next((each.type for each in child.children if not each.is_named), "")
                for word in self._words(target):
                    if operator == "<":
                        if "SEAMARK_TAKEN_" in _text(target):
                            document = word
                        else:
                            inputs = (*inputs, word)
                    elif operator in {"<&", ">&"} and _DESCRIPTOR.fullmatch(word):
                        continue
                    elif not word.startswith("/dev/"):
                        outputs = (*outputs, word)
            elif child.type == "herestring_redirect" and child.named_children:
                document = " ".join(self._words(child.named_children[-1]))
        return replace(around, outputs=outputs, inputs=inputs, document=document)

    def _command(self, node: tree_sitter.Node, around: _Around) -> None:
        words: list[str] = []
        has_redirection = False
        for child in node.named_children:
            kind = child.type
            if kind in _HANDLED:
                has_redirection = True
            elif kind == "variable_assignment":
                self._substitutions(child, around)
            elif kind == "command_name":
                words.extend(
                    self._words(child.named_children[0] if child.named_children else child)
                )
            else:
                words.extend(self._words(child))
                if kind not in {"word", "raw_string", "number"}:
                    self._substitutions(child, around)
        if has_redirection:
            around = self._with_redirections(node, around)
        self._add(tuple(words), around)

    def _add(self, words: tuple[str, ...], around: _Around) -> None:
        self.found.append(
            Simple(
                words=words,
                outputs=around.outputs,
                inputs=around.inputs,
                document=around.document,
                is_piped=around.is_piped,
                is_inner=around.is_inner,
                is_doubtful=self.is_doubtful,
            )
        )

    def _assignment(self, node: tree_sitter.Node, around: _Around) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return
        self._substitutions(value, around)
        if value.type in {"word", "string", "raw_string", "concatenation", "number"}:
            self.values[_text(name)] = tuple(self._words(value))

    def _loop(self, node: tree_sitter.Node, around: _Around) -> None:
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        values: list[str] = []
        for child in node.children_by_field_name("value"):
            self._substitutions(child, around)
            values.extend(self._words(child))
        if variable is not None and values:
            self.values[_text(variable)] = tuple(values[:MOST_VALUES])
        if body is not None:
            self._children(body, around)

    def _substitutions(self, node: tree_sitter.Node, around: _Around) -> None:
        """Commands within words."""
        if node.type in {"command_substitution", "process_substitution"}:
            inner = _Around(is_inner=True, depth=around.depth + 1)
            for child in node.named_children:
                self.visit(child, inner)
        elif around.depth < DEEPEST and node.named_child_count:
            deeper = replace(around, depth=around.depth + 1)
            for child in node.named_children:
                self._substitutions(child, deeper)

    def _words(self, node: tree_sitter.Node) -> list[str]:
        """The word, or the words when it holds a variable with several known values."""
        word = _unquoted(node)
        if "SEAMARK_TAKEN_" in word:
            return [_given_back(word, self.taken)]
        if self.values and "$" in word and node.type != "raw_string":
            return _expanded(word, self.values)
        return [word]


def _expanded(word: str, values: Mapping[str, tuple[str, ...]]) -> list[str]:
    words = [word]
    for name in dict.fromkeys(_VARIABLE.findall(word)):
        if name in values:
            form = re.compile(r"\$(?:\{" + name + r"\}|" + name + r"\b)")
            words = [
                form.sub(lambda _, value=value: value, each)  # type: ignore[misc]
                for each in words
                for value in values[name]
            ][:MOST_VALUES]
    return words


def _unquoted(node: tree_sitter.Node, depth: int = 0) -> str:
    """What the shell would hand to the program, variables unread."""
    kind, text = node.type, _text(node)
    if kind == "word":
        return _ESCAPED.sub(r"\1", text) if "\\" in text else text
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        return _ESCAPED_IN_QUOTES.sub(r"\1", text[1:-1]) if "\\" in text else text[1:-1]
    if kind == "ansi_c_string":
        return _ESCAPED.sub(r"\1", text[2:-1])
    if kind == "concatenation" and depth < DEEPEST:
        return "".join(_unquoted(child, depth + 1) for child in node.children)
    return text


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
