# SPDX-License-Identifier: BSD-3-Clause
"""Finds the inputs of a recorded run. The runtime records a digest of the inputs, not the inputs themselves."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from sdk.devtools.inspector._events import EventBlock
from sdk.exir._serialize._tensor_data import memory_of
from sdk.exir.tensor import scalar_type_enum

Inputs = Sequence[Any]
"""The inputs of a method, flat."""


def recorded_blocks(blocks: Iterable[EventBlock], stateful: bool = False) -> list[EventBlock]:
    """The runs with recorded values, in the order of the bundled cases. For a method with state, only the first run:
    later ones depend on those before. Raises ValueError without such a run."""
    runs = [block for block in blocks if block.name == "Execute"]
    if stateful:
        runs = sorted(runs, key=lambda block: block._first_run)[:1]
    found = [block for block in runs if any(event.debug_data for event in block.events)]
    if not found:
        raise ValueError(
            "the ETDump has no intermediate outputs: record it with debug_buffer_size (Python) or "
            "EventTracerDebugLogLevel::kIntermediateOutputs (C++)"
        )
    return sorted(found, key=lambda block: block.bundled_input_index or 0)


def run_on(
    blocks: Sequence[EventBlock],
    candidates: Callable[[EventBlock], Sequence[Inputs]],
    whose: str,
    advice: str,
    stateful: bool = False,
) -> tuple[EventBlock, Inputs]:
    """The first run whose inputs are among the candidates, with these inputs.

    If no run is known to have used a candidate, a run without a digest, or with a digest of other types (the program
    may quantise its inputs), is assumed to have used the first candidate.

    Args:
        blocks: The recorded runs, not empty.
        candidates: The inputs that a run may have used, the likely ones first.
        whose: The owner of the candidates, for the message, such as "the ETRecord's".
        advice: The advice at the end of the message.
        stateful: Whether `blocks` has only the first run because the method has state, for the message.

    Raises:
        ValueError: All runs were on other inputs.
    """
    unknown: tuple[EventBlock, Inputs] | None = None
    for block in blocks:
        for inputs in candidates(block):
            same = _is_same(block._inputs_digest, digest_of(inputs))
            if same:
                return block, inputs
            if same is None and unknown is None:
                unknown = block, inputs
    if unknown is not None:
        return unknown
    first = " (of a method with state, only the first run is compared: later ones depend on it)" if stateful else ""
    raise ValueError(f"the ETDump is of a run on other inputs than {whose}, so their results differ{first}: {advice}")


def digest_of(values: Inputs) -> int:
    """The digest that the runtime records for a run on these inputs; 0 where it records none.

    Two CRC-32: the upper 32 bits are of the types of the inputs, the lower ones of their contents.
    """
    types = contents = 0
    for value in values:
        read = _read(value)
        if read is None:
            return 0
        types = zlib.crc32(read[0], types)
        for part in read[1:]:
            contents = zlib.crc32(part, contents)
    return types << 32 | contents if values else 0


def _is_same(recorded: int, digest: int) -> bool | None:
    """Whether two digests are of the same inputs; None if that is not known."""
    if 0 in (recorded, digest) or recorded >> 32 != digest >> 32:
        return None
    return recorded == digest


def _read(value: Any) -> tuple[bytes | memoryview, ...] | None:
    """The type of an input and the parts of its contents, all little-endian; None for an input that the runtime
    skips."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            return None
        shape = struct.pack(f"<{value.dim() + 1}q", value.dim(), *value.shape)
        dense = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        return bytes((ord("T"), scalar_type_enum(value.dtype))), shape, memory_of(dense)
    if value is None:
        return (b"n",)
    if isinstance(value, bool):
        return b"b", bytes((value,))
    if isinstance(value, int):
        return b"i", struct.pack("<q", value)
    return (b"d", struct.pack("<d", value)) if isinstance(value, float) else None
