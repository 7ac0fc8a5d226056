"""The edges to disk and to git, behind the ports that others declare."""
