# SPDX-License-Identifier: BSD-3-Clause
"""The functions and constants of a linked program, from the map that GNU ld writes (-Wl,-Map=FILE)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The sections that end up in read-only memory: code, constants and unwind tables.
SECTIONS = (".text", ".rodata", ".ARM.exidx", ".eh_frame", ".init_array", ".data.rel.ro")


@dataclass(frozen=True)
class Piece:
    """An input section that the linker kept: a function or a constant."""

    section: str
    size: int
    library: str  # libexecutorch.a; empty for an object file of the program itself
    object: str  # program.cpp.o

    @property
    def symbol(self) -> str:
        """The mangled name, if each function has a separate section."""
        return re.sub(r"^\.(text|rodata|data\.rel\.ro)\.?", "", self.section) or self.section


def pieces(text: str) -> Iterator[Piece]:
    """Everything in read-only memory, in the order of the map."""
    _, _, kept = text.partition("Linker script and memory map")
    # A long section name is on a separate line.
    joined = re.sub(r"^ (\.\S+)\n\s+(0x)", r" \1 \2", kept, flags=re.M)
    for name, address, size, origin in re.findall(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$", joined, re.M):
        if int(address, 16) == 0 or not name.startswith(SECTIONS):
            continue
        archive = re.search(r"([^/]+\.a)\(([^)]+)\)$", origin)
        library, file = (archive[1], archive[2]) if archive else ("", origin.rpartition("/")[2])
        yield Piece(name, int(size, 16), library, file)
