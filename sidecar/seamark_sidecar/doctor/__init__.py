"""Looks at everything that memory needs, changes nothing, and says what to do."""
