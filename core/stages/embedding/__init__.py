"""The embedding stage: looking rows up, and positions added to them."""
