"""One thread for torch: the tensors here are tiny, and several test processes share the machine."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
