"""Paths as the project sees them."""

from __future__ import annotations

import posixpath

LONGEST_PATH = 512


def project_path(path: str, root: str) -> str | None:
    """The path relative to the project; None when it lies outside."""
    text = path.strip().replace("\\", "/")
    if not text or len(text) > LONGEST_PATH or not text.isprintable() or text.startswith("~"):
        return None
    if posixpath.isabs(text):
        if not posixpath.isabs(root):
            return None
        text = posixpath.relpath(text, root)
    text = posixpath.normpath(text)
    if text in {".", ".."} or text.startswith("../"):
        return None
    return text
