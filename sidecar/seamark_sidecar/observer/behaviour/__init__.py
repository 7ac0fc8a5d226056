"""What the detectors of behaviour have in common."""
