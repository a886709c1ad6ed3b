"""The embedding stage: the table with the rows that are read, and one word in two sentences."""
