"""The cost stage: its tables, and this machine measured."""
