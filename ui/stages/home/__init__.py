"""The home page: the map of the main line in any sizes, and where to read on."""
