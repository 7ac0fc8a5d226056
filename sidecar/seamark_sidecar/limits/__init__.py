"""Keeps what the sidecar takes of the machine within its limits."""
