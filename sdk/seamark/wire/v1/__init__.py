"""The generated contract; edit `proto/` and run `make proto`."""
