"""The matrix product: which shapes may be multiplied."""
