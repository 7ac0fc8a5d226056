"""What a patch or an edit block changes."""

import pytest

from seamark_sidecar.observer.calls.patches import MOST_CHANGES, read_patch
from seamark_sidecar.observer.calls.use import Action, Touch


def test_a_unified_diff_names_files_lines_and_old_text():
    patch = read_patch(
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n"
        "@@ -3,2 +3,2 @@ def f\n-old\n+new\n kept\n@@ -20 +20 @@\n-gone\n"
        "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
        "--- a/dead.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    assert patch.touches == (
        Touch("x.py", Action.EDIT, 3, 4, "old"),
        Touch("x.py", Action.EDIT, 20, 20, "gone"),
        Touch("new.py", Action.WRITE, 0, 0),
    )
    assert patch.gone == ("dead.py",)


def test_a_removed_line_that_looks_like_a_heading_is_none():
    text = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- a comment\n kept\n"
    assert [touch.path for touch in read_patch(text).touches] == ["x.sql"]


def test_a_begun_patch_adds_updates_moves_and_deletes():
    patch = read_patch(
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n"
        "@@ def f\n-old\n+new\n*** Delete File: d.py\n*** End Patch"
    )
    assert patch.touches == (
        Touch("a.py", Action.WRITE),
        Touch("c.py", Action.EDIT, replaced="old"),
    )
    assert patch.gone == ("b.py", "d.py")


def test_edit_blocks_follow_the_name_of_their_file():
    text = (
        "Here it is:\n\nsrc/a.py\n```python\n<<<<<<< SEARCH\none\ntwo\n=======\nthree\n"
        ">>>>>>> REPLACE\n```\nand\n```\n<<<<<<< SEARCH\nfour\n=======\n>>>>>>> REPLACE\n```\n"
        "`new.py`\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n"
    )
    assert read_patch(text).touches == (
        Touch("src/a.py", Action.EDIT, replaced="one\ntwo"),
        Touch("src/a.py", Action.EDIT, replaced="four"),
        Touch("new.py", Action.WRITE),
    )


def test_a_block_without_a_name_is_for_the_file_that_is_given():
    text = "<<<<<<< SEARCH\n:start_line:7\n-------\nold\n=======\nnew\n>>>>>>> REPLACE"
    assert read_patch(text, "a.py").touches == (Touch("a.py", Action.EDIT, 7, 0, "old"),)
    assert read_patch(text).touches == ()


@pytest.mark.parametrize("text", ["", "hello", "@@ -1 +1 @@", "<<<<<<< SEARCH\nx", "--- a\n+++ b"])
def test_what_is_no_patch_changes_nothing(text):
    assert read_patch(text).touches == ()


def test_a_patch_of_very_many_files_is_read_so_far():
    text = "".join(f"*** Add File: f{number}\n+x\n" for number in range(9_000))
    assert len(read_patch("*** Begin Patch\n" + text).touches) == MOST_CHANGES
