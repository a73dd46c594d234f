# SPDX-License-Identifier: BSD-3-Clause
"""`CortexMTargetConfig`: the processor for which a program is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from sdk.backends.cortex_m.library.cmsis_nn import Backend, CortexM, resolve_backend

__all__ = ["CortexM", "CortexMTargetConfig"]

_PREFIX = "cortex-m"
_FROM_THE_BEST = {
    Backend.MVE: (Backend.MVE, Backend.DSP, Backend.SCALAR),
    Backend.DSP: (Backend.DSP, Backend.SCALAR),
    Backend.SCALAR: (Backend.SCALAR,),
}
"""For each instruction set, the sets that a processor with it can execute, the best first."""


@dataclass(frozen=True)
class CortexMTargetConfig:
    """A processor, and the instructions that kernels use there.

    Attributes:
        cpu: The processor.
        isa: The instructions, for a processor that lacks an option, such as a Cortex-M55 without Helium. By default
            those of a processor with all its options.

    Raises ValueError for instructions that no such processor has.
    """

    cpu: CortexM
    isa: Backend | None = None

    def __post_init__(self) -> None:
        supported = _FROM_THE_BEST[resolve_backend(self.cpu)]
        if self.isa is not None and self.isa not in supported:
            names = sorted(backend.name for backend in supported)
            raise ValueError(f"Backend {self.isa.name} is not supported on {self.cpu.name}; supported: {names}")

    @property
    def target_string(self) -> str:
        """The name that `from_target_string` reads, such as `cortex-m55`."""
        return _PREFIX + self.cpu.name[1:].lower()

    @property
    def backend(self) -> Backend:
        """The instructions that kernels use."""
        return self.isa if self.isa is not None else resolve_backend(self.cpu)

    @classmethod
    def from_target_string(cls, target: str) -> CortexMTargetConfig:
        """The target of a name such as `cortex-m55`. Raises ValueError for any other text."""
        if not target.startswith(_PREFIX):
            raise ValueError(f"Cortex-M target string must start with '{_PREFIX}', got: {target!r}")
        known = {cls(cpu).target_string: cpu for cpu in CortexM}
        if target not in known:
            raise ValueError(f"Unsupported Cortex-M target string: {target!r}. Supported: {sorted(known)}")
        return cls(known[target])
