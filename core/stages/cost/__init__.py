"""The cost stage: where computation and memory go."""
