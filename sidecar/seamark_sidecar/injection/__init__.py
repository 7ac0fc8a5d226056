"""Chooses what an agent is shown, and words it."""
