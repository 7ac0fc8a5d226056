"""The sidecar's nouns: facts and their shapes, free of storage and transport."""
