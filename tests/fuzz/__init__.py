"""Fuzzing of every kind of file that the library reads: `python -m tests.fuzz`."""
