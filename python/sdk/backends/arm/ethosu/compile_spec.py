# SPDX-License-Identifier: BSD-3-Clause
"""`EthosUCompileSpec`: the target, its profile of TOSA, and the options of Vela.

The targets come from Arm's Ethos-U product pages, the memory modes from Vela's `Arm/vela.ini`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.exir.backend.compile_spec_schema import CompileSpec

_TARGET = "target"
_CYCLES = "store_cycles"
_TOSA = "TOSA-1.0+INT+int16+int4"


@dataclass(frozen=True)
class _Family:
    """A family of NPUs.

    Attributes:
        macs: The multiply-accumulates per cycle of each of its NPUs.
        extension: The further extension of TOSA that they support.
        system_config, memory_mode: The default sections of Vela's configuration.
    """

    macs: tuple[int, ...]
    extension: str
    system_config: str
    memory_mode: str


_FAMILIES = {
    "ethos-u55": _Family((32, 64, 128, 256), "u55", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65": _Family((256, 512), "u55", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "ethos-u85": _Family((128, 256, 512, 1024, 2048), "cf", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
}


class EthosUCompileSpec(ArmCompileSpec):
    """Options for an Ethos-U.

    Args:
        target: The NPU and its multiply-accumulates per cycle, for example "ethos-u55-128".
        system_config: The section of Vela's configuration that describes the system. Default: the family's.
        memory_mode: The section that says where tensors and weights are: `Sram_Only`, `Shared_Sram`, or
            `Dedicated_Sram` with its sizes. An Ethos-U55 has no `Dedicated_Sram`. Default: the family's.
        extra_flags: Further options of Vela, one in each element.
        config_ini: The file of Vela's configuration; None means "Arm/vela.ini".

    Raises ValueError for a target that is not an Ethos-U, and for a memory mode that it does not have.
    """

    output_format = "vela"

    def __init__(
        self,
        target: str,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: list[str] | None = None,
        config_ini: str | None = "Arm/vela.ini",
    ) -> None:
        name, _, macs = target.lower().rpartition("-")
        family = _FAMILIES.get(name)
        if family is None or macs not in map(str, family.macs):
            known = (f"{each}-{count}" for each, about in _FAMILIES.items() for count in about.macs)
            raise ValueError(f"{target!r} is not an Ethos-U; there are {', '.join(known)}")
        mode = memory_mode or family.memory_mode
        if mode.startswith("Dedicated_Sram") and name == "ethos-u55":
            raise ValueError(f"the memory mode of {target} is {mode}; an Ethos-U55 has Sram_Only and Shared_Sram")
        flags = {
            "accelerator-config": target,
            "config": config_ini or "Arm/vela.ini",
            "output-format": "raw",
            "system-config": system_config or family.system_config,
            "memory-mode": mode,
        }
        if isinstance(extra_flags, str):
            raise ValueError(f"extra_flags is the text {extra_flags!r}; pass a list with one flag an element")
        super().__init__(
            f"{_TOSA}+{family.extension}",
            [*(extra_flags or ()), *(f"--{option}={value}" for option, value in flags.items())],
        )
        self.target = target
        self.stores_cycles = False

    def store_cycles(self, is_on: bool = True) -> EthosUCompileSpec:
        """Stores the cycles of each command, as Vela estimates them, in the program: four bytes for each. The events of
        commands then have this time. Runtimes other than this SDK's may refuse such programs."""
        self.stores_cycles = is_on
        return self

    def to_compile_specs(self) -> list[CompileSpec]:
        own = [CompileSpec(_TARGET, self.target.encode())]
        return [*super().to_compile_specs(), *own, *([CompileSpec(_CYCLES, b"1")] if self.stores_cycles else [])]

    @classmethod
    def from_compile_specs(cls, specs: Iterable[CompileSpec]) -> EthosUCompileSpec:
        given = list(specs)
        made = super().from_compile_specs([each for each in given if each.key not in (_TARGET, _CYCLES)])
        targets = [bytes(each.value).decode() for each in given if each.key == _TARGET]
        if len(targets) != 1:
            raise ValueError(f"the options name {len(targets)} targets; expected those of {cls.__name__}")
        made.target = targets[0]
        made.stores_cycles = any(each.key == _CYCLES for each in given)
        return made
