# SPDX-License-Identifier: BSD-3-Clause
"""The compile options of a program. The only option is the chip. The options are stored as a flatbuffer with the
identifier EETO, whose table has one int32 field, the number of the chip."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Final

from sdk.exir.backend.compile_spec_schema import CompileSpec

ENN_COMPILE_OPTION_TITLE: Final = "enn_compile_options"
COMPILE_OPTION_SCHEMA_NAME: Final = "compile_options_def"

_IDENTIFIER: Final = b"EETO"


@unique
class SamsungChipset(IntEnum):
    """The chips, by the numbers that Samsung's compiler has for them."""

    UNDEFINED_CHIP_V = 0
    E9955 = 9955
    """Exynos 2500."""
    E9965 = 9965
    """Exynos 2600."""


CHIPSETS: Final = tuple(chip.name for chip in SamsungChipset if chip)
"""The names of the chips."""


@dataclass
class EnnExecuTorchOptions:
    """The options.

    Attributes:
        chipset: The chip for which the program is compiled.
    """

    chipset: SamsungChipset = SamsungChipset.UNDEFINED_CHIP_V


def gen_samsung_backend_compile_spec_core(options: EnnExecuTorchOptions) -> CompileSpec:
    """The compile spec of options."""
    chip = int(options.chipset)
    # A field with the default value 0 is not stored. An offset is relative to its own position. The vtable precedes the
    # table, and begins with its own size and the table's.
    if chip:
        data = struct.pack("<I4s2x3HIi", 16, _IDENTIFIER, 6, 8, 4, 6, chip)
    else:
        data = struct.pack("<I4s2HI", 12, _IDENTIFIER, 4, 4, 4)
    return CompileSpec(ENN_COMPILE_OPTION_TITLE, data)


def gen_samsung_backend_compile_spec(chipset: str) -> CompileSpec:
    """The compile spec for a chip.

    Args:
        chipset: "E9955" (Exynos 2500) or "E9965" (Exynos 2600), in upper or lower case.

    Raises ValueError for another name.
    """
    name = chipset.upper() if isinstance(chipset, str) else chipset
    if name not in CHIPSETS:
        raise ValueError(f"there is no chip {chipset!r} of Samsung; expected one of {', '.join(CHIPSETS)}")
    return gen_samsung_backend_compile_spec_core(EnnExecuTorchOptions(SamsungChipset[name]))


def chipset_of(spec: CompileSpec) -> SamsungChipset:
    """The chip of a compile spec.

    Raises ValueError for bytes that are not options, and for options without a chip.
    """
    data = bytes(spec.value)
    chip = None
    if data[4:8] == _IDENTIFIER:
        with contextlib.suppress(struct.error):
            chip = _field(data)
    if chip is None:
        raise ValueError(
            f"the compile spec {spec.key} of Samsung has {len(data)} bytes that are not options: make it with "
            f"gen_samsung_backend_compile_spec"
        )
    if chip not in [int(each) for each in SamsungChipset if each]:
        raise ValueError(f"the compile spec {spec.key} of Samsung names the chip {chip}; expected {_numbers()}")
    return SamsungChipset(chip)


def _field(data: bytes) -> int:
    """The number in a flatbuffer. Raises struct.error for offsets outside of it."""
    (table,) = struct.unpack_from("<I", data)
    (back,) = struct.unpack_from("<i", data, table)
    if not 0 <= table - back < len(data):
        raise struct.error("the vtable lies outside")
    size, _ = struct.unpack_from("<2H", data, table - back)
    (offset,) = struct.unpack_from("<H", data, table - back + 4) if size > 4 else (0,)
    (chip,) = struct.unpack_from("<i", data, table + offset) if offset else (0,)
    return int(chip)


def _numbers() -> str:
    return " or ".join(str(int(chip)) for chip in SamsungChipset if chip)
