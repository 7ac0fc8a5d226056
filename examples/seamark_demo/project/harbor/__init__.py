"""Quotes what a visit to the harbour costs."""
