"""The front end: Python functions to attention programs in MLIR."""
