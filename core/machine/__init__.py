"""Devices, times and ledgers: what a machine can do, and what a model asks of it."""
