"""The mixing stage: weights times values."""
