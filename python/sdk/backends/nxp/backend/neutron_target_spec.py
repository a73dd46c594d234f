# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronTargetSpec`: the sizes of an NPU, on which limits of operators depend. They are known without NXP's SDK."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class NeutronHWVersion(Enum):
    """The versions of the hardware."""

    N1 = 1
    N3 = 2


@dataclass(frozen=True)
class _Target:
    name: str
    is_subsystem: bool
    units: int
    pipes: int
    macs: int
    version: NeutronHWVersion


_TARGETS: Final = {
    # An N3-64: 64 multiply-accumulates a cycle, as 8 pipelines of 8 (NXP, AN14700).
    target.name: target
    for target in (_Target("imxrt700", False, 1, 8, 8, NeutronHWVersion.N3),)
}

TARGETS: Final = tuple(_TARGETS)
"""The names of the targets."""


class NeutronTargetSpec:
    """A target.

    Args:
        target: Its name, "imxrt700".
        converter_flavor: A release of NXP's converter, such as "SDK_25_12". Accepted for ExecuTorch before 1.2, and
            ignored: one converter compiles for all targets since then.

    Raises ValueError for another target.
    """

    def __init__(self, target: str, converter_flavor: str | None = None) -> None:
        if target not in _TARGETS:
            raise ValueError(f"there is no target {target!r} of Neutron; expected {', '.join(TARGETS)}")
        self.neutron_target = _TARGETS[target]
        self.converter_flavor = converter_flavor

    def get_name(self) -> str:
        """The name."""
        return self.neutron_target.name

    def is_subsystem(self) -> bool:
        """Whether the NPU is a subsystem with its own processor (Neutron-S)."""
        return self.neutron_target.is_subsystem

    def get_num_units(self) -> int:
        """Returns the number of compute units."""
        return self.neutron_target.units

    def get_num_pipes(self) -> int:
        """Returns the number of pipelines."""
        return self.neutron_target.pipes

    def get_num_macs(self) -> int:
        """Returns the number of multiply-accumulates of a pipeline per cycle."""
        return self.neutron_target.macs

    def get_hw_version(self) -> NeutronHWVersion:
        """The version of the hardware."""
        return self.neutron_target.version
