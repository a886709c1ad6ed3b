"""What can be chosen on the page on scores."""

from __future__ import annotations

from ui.bench.parameters import Choice, Switch

TRANSPOSE = Switch("transpose", True, stage="scores", persists=False)
SCALE = Switch("scale", True, stage="scores", persists=False)
MISTAKE = Choice("mistake", "unscaled", codes=("unscaled", "model_width", "times_root"), stage="scores")
