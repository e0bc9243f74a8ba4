"""How large an arena a model needs: on this machine, and on a 32-bit microcontroller."""
from __future__ import annotations

from dataclasses import dataclass

from .ir import Model
from .lifetimes import aligned
from .memory import MemoryPlan
from .tail import DEVICE, HOST, tail_bytes

REQUEST, MOST_REQUESTS, INFO, PER_BUFFER = 12, 12, 24, 40
"""Bytes on a 32-bit machine, while TFLM plans: a request for a scratch buffer, of which it keeps this many ready; what
it notes of a tensor or scratch buffer; what its planner notes of each buffer."""

SLACK = 64
"""Bytes that a device's kernels may keep beyond those of the reference kernels: up to 36 were seen with CMSIS-NN."""


@dataclass(frozen=True)
class Needs:
    """Bytes. head: tensors and scratch buffers. planning: the device's whole arena while TFLM plans the head, which is
    more than it needs afterwards where there are many tensors and few numbers in them.
    """

    head: int
    host_tail: int
    device_tail: int
    planning: int

    @property
    def host(self) -> int:
        """The whole arena in the 64-bit interpreter."""
        return self.head + self.host_tail

    @property
    def device(self) -> int:
        """kTensorArenaSize for a 32-bit microcontroller.

        TFLM's reference kernels and the fused operator need no more. Optimized kernels of builtin operators may ask for
        scratch memory besides.
        """
        return aligned(max(self.head + self.device_tail, self.planning) + SLACK)

    def as_dict(self) -> dict[str, int]:
        return {"head": self.head, "host": self.host, "device": self.device}


def needs(model: Model, planned: MemoryPlan) -> Needs:
    """What a model needs with a plan."""
    tensors = sum(len(g.tensors) for g in model.subgraphs)
    scratch = sum(p.tensor is None for p in planned.places)
    planning = REQUEST * (scratch + MOST_REQUESTS) + INFO * (tensors + scratch) + PER_BUFFER * len(planned.places)
    return Needs(planned.head, tail_bytes(model, HOST), tail_bytes(model, DEVICE),
                 planning + tail_bytes(model, DEVICE, planning=True))
