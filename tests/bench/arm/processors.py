# SPDX-License-Identifier: BSD-3-Clause
"""The emulated processors, as QEMU, /proc/cpuinfo and llvm-mca know them."""

from __future__ import annotations

from dataclasses import dataclass

_V8_2 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp"
_V8_6 = f"{_V8_2} jscvt fcma sha3 sha512 asimdfhm uscat ilrcpc flagm sb dcpodp flagm2 frint i8mm bf16"
_SVE = "sve sve2 sveaes svepmull svebitperm svesha3 svesm4 svei8mm svebf16"


@dataclass(frozen=True)
class Processor:
    """A processor that programs are counted on.

    Attributes:
        name: The name for the command line.
        title: The name for tables.
        qemu: The value of QEMU's option -cpu.
        model: The processor whose scheduling model of llvm-mca gives the cycles.
        part: The part number in MIDR_EL1 and /proc/cpuinfo; libraries choose kernels by implementer and part.
        implementer: 0x41 is Arm.
        features: The line of /proc/cpuinfo.
    """

    name: str
    title: str
    qemu: str
    model: str
    part: int
    features: str
    implementer: int = 0x41

    @property
    def cpuinfo(self) -> str:
        """The contents of /proc/cpuinfo for a system with one core of this processor."""
        lines = {
            "processor": "0",
            "BogoMIPS": "100.00",
            "Features": self.features,
            "CPU implementer": f"0x{self.implementer:02x}",
            "CPU architecture": "8",
            "CPU variant": "0x1",
            "CPU part": f"0x{self.part:03x}",
            "CPU revision": "0",
        }
        return "".join(f"{key}\t: {value}\n" for key, value in lines.items()) + "\n"


def _arm(name: str, title: str, cpu: str, model: str, part: int, features: str) -> Processor:
    """A processor of Arm, which QEMU emulates as its model `cpu` with the part number `part`."""
    return Processor(name, title, f"{cpu},midr=0x{0x411F0000 | part << 4:x}", model, part, features)


# QEMU 7.2 has neither the A55, which has the instructions of the A76, nor the X2. LLVM uses the model of the A57 for
# -mcpu=cortex-a76. The Neoverse N1 has the pipelines of the A76, and the Neoverse V1 those of the X1, like the X2.
PROCESSORS = {
    processor.name: processor
    for processor in (
        _arm("a55", "Cortex-A55", "cortex-a76", "cortex-a55", 0xD05, _V8_2),
        _arm("a76", "Cortex-A76", "cortex-a76", "neoverse-n1", 0xD0B, _V8_2),
        _arm("x2", "Cortex-X2", "max,sve128=on,sme=off", "neoverse-v1", 0xD48, f"{_V8_6} {_SVE}"),
        Processor("max", "max, no SVE", "max,sve=off,sme=off", "neoverse-v1", 0x51, _V8_6, 0),
        Processor("max-sve", "max, SVE of 512 bits", "max,sme=off", "neoverse-v1", 0x51, f"{_V8_6} {_SVE}", 0),
    )
}


def chosen(names: list[str]) -> list[Processor]:
    """The processors of these names."""
    if unknown := [name for name in names if name not in PROCESSORS]:
        raise ValueError(f"there is no processor {unknown[0]!r}; expected some of {', '.join(PROCESSORS)}")
    return [PROCESSORS[name] for name in names]
