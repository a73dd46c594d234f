# SPDX-License-Identifier: BSD-3-Clause
"""Reads the words of a command stream, and checks the results of commands for overlaps."""

from __future__ import annotations

import struct
from collections.abc import Iterator

DMA = 0x010
COMPUTES = {0x002, 0x003, 0x005, 0x006, 0x007}  # convolution, depthwise, pool, elementwise, resize

_MAGIC = b"COP1"
_CONFIGURE, _STREAM, _NOTHING = 1, 2, 5  # actions of the driver
# Registers of the result: its last column and row, the last column and row of the first tile, and the addresses of the
# tiles.
_WIDTH, _HEIGHT, _WIDTH_OF_TILE, _HEIGHT_OF_TILE = 0x111, 0x112, 0x11A, 0x11B
_FIRST, _RIGHT, _BELOW = 0x010, 0x011, 0x012


def words_of(commands: bytes) -> Iterator[tuple[int, int, int, int | None]]:
    """Yields each word of the stream: its offset in bytes, its code, its 16-bit parameter, and the following word if it
    sets an address or a scale. Raises ValueError if the stream has another form."""
    words = struct.unpack(f"<{len(commands) // 4}I", commands[: len(commands) // 4 * 4])
    if commands[:4] != _MAGIC:
        raise ValueError("the commands do not begin with COP1")
    at = 1
    while at < len(words):
        action = words[at] & 0xFF
        length = words[at] >> 16 | (words[at] >> 8 & 0xFF) << 16
        at += 3 if action == _CONFIGURE else 1
        if action not in (_CONFIGURE, _STREAM, _NOTHING):
            raise ValueError(f"the driver's action {action} is not known")
        if action != _STREAM:
            continue
        start = at
        while at < start + length:
            has_second = words[at] >> 14 & 3 == 1
            yield 4 * (at - start), words[at] & 0x3FF, words[at] >> 16, words[at + 1] if has_second else None
            at += 2 if has_second else 1


def writes_over_itself(commands: bytes) -> bool:
    """Whether a command of an Ethos-U55 or U65 writes two tiles of its result to the same address, so that one of them
    is lost. Vela 5.2.0 generates such commands for parts of a reshaped tensor."""
    sizes: dict[int, int] = {}
    addresses: dict[int, int] = {}
    for _, code, parameter, second in words_of(commands):
        if second is not None:
            addresses[code] = parameter << 32 | second
        elif code in COMPUTES:
            for size, tile, other in ((_WIDTH, _WIDTH_OF_TILE, _RIGHT), (_HEIGHT, _HEIGHT_OF_TILE, _BELOW)):
                has_two = sizes.get(size, 0) > sizes.get(tile, 0)
                if has_two and addresses.get(_FIRST) == addresses.get(other):
                    return True
        else:
            sizes[code] = parameter
    return False
