"""What the page on costs is about: a workload and a device."""

from __future__ import annotations

from dataclasses import dataclass

from core.machine.datasheet import DEVICES, Device
from core.machine.ledger import Line, Workload
from core.stages import cost
from ui.furniture.page import Subject
from ui.stages.cost.choices import OPENING

_LOAD = Workload(OPENING.config, 1, 1, "float16", "float16")


@dataclass
class Costs(Subject):
    """The workload and the device that the controls choose; `lines` are the ledger's, `part` the one whose formula is
    written out."""

    load: Workload = _LOAD
    device: Device = DEVICES[cost.DEVICE]
    lines: tuple[Line, ...] = ()
    part: str = "pairs"

    @property
    def facts(self) -> cost.CostFacts:
        """What is worth noticing in this workload on this device."""
        return cost.facts(self.at, load=self.load, device=self.device)
