"""The heads stage: split, attend, concatenate, project."""
