"""The order stage: attention cannot see the order of the tokens."""
