"""A demo that measures what memory changes for an agent on a small project."""
