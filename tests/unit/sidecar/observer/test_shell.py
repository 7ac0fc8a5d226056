"""The commands that a line of shell is made of."""

import time

import pytest

from seamark_sidecar.observer.calls.shell import (
    CLOSED,
    LONGEST_PARSED,
    MOST_COMMANDS,
    OPENED,
    parse,
)


def words(text):
    return [simple.words for simple in parse(text) if simple not in (OPENED, CLOSED)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls -la", [("ls", "-la")]),
        ("a | b && c; d\ne", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("a || b & c", [("a",), ("b",), ("c",)]),
        ("FOO=1 BAR=2 make all", [("make", "all")]),
        ("""grep "a b" 'c d' e\\ f""", [("grep", "a b", "c d", "e f")]),
        ('echo "say \\"hi\\""', [("echo", 'say "hi"')]),
        ("python -c 'x'\\''y'", [("python", "-c", "x'y")]),
        ("if [ -f a ]; then cat a; else ls; fi", [("cat", "a"), ("ls",)]),
        ("# only a comment\nls", [("ls",)]),
        ("cat a \\\n  b", [("cat", "a", "b")]),
        ("while read x; do grep $x f; done", [("read", "x"), ("grep", "$x", "f")]),
        ("", []),
        ("   \n ", []),
    ],
)
def test_commands_are_told_apart(text, expected):
    assert words(text) == expected


def test_a_pipe_is_known_by_the_commands_it_feeds():
    assert [simple.is_piped for simple in parse("a | b | c && d")] == [False, True, True, False]


def test_redirections_belong_to_their_command():
    first, second = parse("a && b > out.txt 2>&1 < in.txt")
    assert (first.outputs, first.inputs) == ((), ())
    assert (second.outputs, second.inputs) == (("out.txt",), ("in.txt",))


@pytest.mark.parametrize("text", ["a > /dev/null", "a 2>&1", "a >&2", "a 2>/dev/null"])
def test_what_goes_nowhere_is_no_file(text):
    assert parse(text)[0].outputs == ()


@pytest.mark.parametrize("quote", ["'EOF'", '"EOF"', "EOF", "\\EOF", "-EOF"])
def test_a_here_document_is_text_and_no_commands(quote):
    text = f'cat <<{quote} > a.py\nrm -rf / ; it\'s "odd" $(ls)\nEOF\npython a.py'
    first, second = parse(text)
    assert first.words == ("cat",)
    assert first.outputs == ("a.py",)
    assert first.document == 'rm -rf / ; it\'s "odd" $(ls)\n'
    assert second.words == ("python", "a.py")


def test_several_here_documents_keep_their_order():
    text = "cat <<A > a && cat <<B > b\none\nA\ntwo\nB\nls"
    first, second, third = parse(text)
    assert (first.document, second.document, third.words) == ("one\n", "two\n", ("ls",))


def test_a_here_document_without_an_end_lasts_to_the_end():
    (only,) = parse("cat <<EOF > a\nls\nrm x")
    assert (only.words, only.document) == (("cat",), "ls\nrm x")


def test_a_here_document_in_a_message_is_no_command_of_the_line():
    simples = parse('git commit -m "$(cat <<\'EOF\'\nfix "it"; rm x\nEOF\n)"')
    assert [(each.words[:2], each.is_inner) for each in simples] == [
        (("cat",), True),
        (("git", "commit"), False),
    ]


@pytest.mark.parametrize("text", ['grep "<<EOF" a', "grep '<<<<<<< x' a", "echo $((1 << 2))"])
def test_two_angles_within_quotes_begin_no_document(text):
    assert parse(text)[0].document == ""


def test_what_runs_within_words_is_marked():
    simples = parse("x=$(go env GOPATH) && grep a $(find . -name b) <(sort c)")
    assert {each.words[0]: each.is_inner for each in simples} == {
        "go": True,
        "find": True,
        "sort": True,
        "grep": False,
    }


def test_a_loop_over_files_is_followed():
    assert words("for f in a.py b.py; do sed -i s/x/y/ $f; done") == [
        ("sed", "-i", "s/x/y/", "a.py", "b.py")
    ]


def test_a_variable_that_the_line_itself_sets_is_followed():
    assert words('D=/srv/x; cat "$D/a" ${D}/b $DIR') == [("cat", "/srv/x/a", "/srv/x/b", "$DIR")]


def test_a_subshell_is_marked():
    assert [each for each in parse("(cd a && b); c") if each in (OPENED, CLOSED)] == [
        OPENED,
        CLOSED,
    ]


def test_long_quotations_are_read_whole():
    code = "x = 1\n" * 2_000
    (only,) = parse(f"python -c '{code}'")
    assert only.words == ("python", "-c", code)
    (only,) = parse(f'python -c "{code}"')
    assert only.words == ("python", "-c", code)


def test_what_is_too_long_is_read_by_its_first_words():
    simples = parse("cat a.py && " + "echo x; " * LONGEST_PARSED)
    assert simples[0].words == ("cat", "a.py")
    assert simples[0].is_doubtful
    assert len(simples) <= MOST_COMMANDS + 1


HOSTILE = [
    "(", "((", "$(", "${", "`", '"', "'", "{ ", "<<a\n", "<<", "< ", ">", "|", "|a", "&&", ";",
    "if ", "case a in ", "for ", "[[ ", "$((", "a=(", "<(", "! ", "\\", "a\n", "{a..", "a[", "<<<",
    "a(){", 'a"$(', '"${', "((a", "#", "[[ a =~ ", "case x in (", "$'", "${a/", "<&", "é", "\0",
    "a=$a;", "for a in $a;do ", "'\"", "cat <<E\nE\n", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("size", [100, LONGEST_PARSED, 300_000])
def test_nothing_breaks_it_or_holds_it_up(piece, size):
    start = time.process_time()
    parse((piece * size)[:size])
    assert time.process_time() - start < 2
