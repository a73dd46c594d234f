# SPDX-License-Identifier: BSD-3-Clause
"""The payloads of QNN: a header and a context binary.

    u32    0x5678ABCD
    u64    the signature: delegates with equal signatures share one context
    u64    the bytes of the context binary
    zeros up to 256 bytes, and the context binary

All numbers are little-endian. Reference payloads contain the graph of `sdk.backends.npu` instead of the context
binary, which Qualcomm's library refuses.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

MAGIC: Final = 0x5678ABCD
ALIGNMENT: Final = 256
"""The size of the header, with its zeros."""

_HEADER = struct.Struct("<IQQ")


def compose(binary: bytes) -> bytes:
    """The payload of a context binary. The signature is a hash of the binary, so that exporting the same model again
    gives the same bytes."""
    (signature,) = struct.unpack_from("<Q", hashlib.sha256(binary).digest())
    return _HEADER.pack(MAGIC, signature, len(binary)).ljust(ALIGNMENT, b"\0") + binary


def is_payload(payload: bytes | memoryview) -> bool:
    """Whether bytes begin as a payload does."""
    return len(payload) >= 4 and struct.unpack_from("<I", payload)[0] == MAGIC


def binary_of(payload: bytes | memoryview) -> memoryview:
    """The context binary in a payload. Raises ValueError if the header does not fit."""
    if len(payload) < ALIGNMENT:
        raise ValueError(f"the payload has {len(payload)} bytes; its header needs {ALIGNMENT}")
    magic, _, size = _HEADER.unpack_from(payload)
    if magic != MAGIC:
        raise ValueError(f"the payload begins with 0x{magic:08X}; expected 0x{MAGIC:08X}")
    if size != len(payload) - ALIGNMENT or not size:
        raise ValueError(f"the payload announces a context binary of {size} bytes and has {len(payload) - ALIGNMENT}")
    return memoryview(payload)[ALIGNMENT:]
