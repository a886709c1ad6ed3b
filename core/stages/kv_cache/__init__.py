"""The KV cache stage: bytes over the length, and the time of a step with the cache and without."""
