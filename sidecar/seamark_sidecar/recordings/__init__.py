"""Reads sessions that agents left behind, in the forms that are found on people's disks."""
