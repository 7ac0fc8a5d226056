"""Decides which of a session's findings become memories."""
