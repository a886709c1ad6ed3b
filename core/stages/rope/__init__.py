"""The RoPE stage: pairs of dimensions turned by their position."""
