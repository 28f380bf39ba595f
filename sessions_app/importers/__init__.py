"""Sessions read from the files that clients keep: one module for each client."""
