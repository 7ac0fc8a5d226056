"""Owns the sessions of agents from their start until their gate closes."""
