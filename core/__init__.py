"""The compute core: torch and NumPy, no user interface, no display text."""
