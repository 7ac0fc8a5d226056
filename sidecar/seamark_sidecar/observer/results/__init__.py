"""What the result of a tool call says."""
