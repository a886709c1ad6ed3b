"""The tokens stage: from a text to ids."""
