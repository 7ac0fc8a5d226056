"""What a tool call means."""
