"""The generation stage: why the next token was chosen, and what goes wrong when a step goes on from a cache."""
