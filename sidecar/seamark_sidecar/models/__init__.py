"""Models that run on this machine: which there are, how they get here, how they are run."""
