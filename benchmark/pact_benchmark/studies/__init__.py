"""The studies of the controlled benchmark, one module per question."""
