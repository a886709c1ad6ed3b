"""Real models: found on this machine, dequantised once, mapped, tokenized, traced."""

from core.live.model import Live, load
from core.live.registry import available

__all__ = ["Live", "available", "load"]
