"""The sharing stage: who reads whose keys and values."""
