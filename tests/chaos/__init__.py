"""Agents work while everything breaks; then what they were told is held against the store."""
