"""Benchmarks: every figure is a ratio between two things measured in the same run."""
