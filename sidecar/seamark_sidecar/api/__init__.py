"""gRPC in, status out."""
