"""KV cache: what it holds, and how it grows."""
