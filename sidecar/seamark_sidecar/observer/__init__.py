"""Watches what an agent does and says what is noteworthy about it."""
