"""Files that a script changes when it is run."""

import time

import pytest

from seamark_sidecar.observer.calls.scripts import MOST_FILES, changed_files


@pytest.mark.parametrize(
    "text",
    [
        "open('a.py', 'w').write(x)",
        'with open("a.py", mode="a") as f:',
        "open('a.py', 'r+b')",
        "Path('a.py').write_text(x)",
        "path = 'a.py'\nwith open(path, 'w') as f:",
        "path = Path('a.py')\npath.write_text(x)",
        "fs.writeFileSync('a.py', x)",
        "const p = 'a.py'\nfs.writeFileSync(p, x)",
        "def put(text, path):\n    open(path, 'w')\nput(1, 'a.py')",
        "for name in ['a.py']:\n    open(name, 'w')",
        "for line in fileinput.input('a.py', inplace=True):",
    ],
)
def test_a_file_that_is_opened_for_writing_is_changed(text):
    assert changed_files(text) == ("a.py",)


@pytest.mark.parametrize(
    "text",
    ["open('a.py')", "open('a.py', 'r')", "open(sys.argv[1], 'w')", "", "open(", "x = 'a.py'"],
)
def test_what_is_only_read_or_not_named_is_not_changed(text):
    assert changed_files(text) == ()


def test_only_so_many_files_are_kept():
    text = "\n".join(f"open('f{number}', 'w')" for number in range(500))
    assert len(changed_files(text)) == MOST_FILES


@pytest.mark.parametrize(
    "piece", ["open(", "open(a,'w')\n", "def f(a):\n", "f(a,", "a = '", "for a in ["]
)
def test_nothing_holds_it_up(piece):
    start = time.process_time()
    changed_files(piece * 100_000)
    assert time.process_time() - start < 2
