"""What only one stage draws: its frames, tables and switches."""
