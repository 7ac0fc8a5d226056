"""Measurements, each beside its floor or peer of the same run: `python -m bench`."""
