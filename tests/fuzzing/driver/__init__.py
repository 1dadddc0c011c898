"""The parts of `tests/fuzzing/run`."""
