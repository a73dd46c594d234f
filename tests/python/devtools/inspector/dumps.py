# SPDX-License-Identifier: BSD-3-Clause
"""ETDumps that are made without a runtime."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sdk.devtools.etdump import schema_flatcc as schema
from sdk.devtools.etdump.serialize import serialize_to_etdump_flatcc

MS = 1_000_000  # nanoseconds
NO_CHAIN = 2**64 - 1


def profile(
    name: str | None,
    start: int,
    end: int,
    instruction: int = -1,
    identifier: int | str | None = None,
    metadata: bytes | None = None,
) -> schema.Event:
    """An event of `end - start` ticks."""
    number = identifier if isinstance(identifier, int) else -1
    text = identifier if isinstance(identifier, str) else None
    chain = 0 if instruction >= 0 else -1
    return schema.Event(schema.ProfileEvent(name, chain, instruction, number, text, metadata, start, end))


def recorded(
    offset: int,
    sizes: Sequence[int] = (2,),
    instruction: int = -1,
    output: bool = False,
    dtype: schema.ScalarType = schema.ScalarType.FLOAT,
    strides: Sequence[int] | None = None,
) -> schema.Event:
    """A tensor, contiguous by default."""
    if strides is None:
        strides = [0] * len(sizes)
        step = 1
        for i in reversed(range(len(sizes))):
            strides[i], step = step, step * sizes[i]
    tensor = schema.Tensor(dtype, list(sizes), list(strides), offset)
    value = schema.Value("Tensor", tensor=tensor, output=schema.Bool(output))
    chain = 0 if instruction >= 0 else NO_CHAIN
    return schema.Event(debug_event=schema.DebugEvent(None, chain, instruction, -1, None, value))


def run(*events: schema.Event, name: str = "Execute", index: int = -1) -> schema.RunData:
    return schema.RunData(name, index, [], list(events))


def dump(*runs: schema.RunData, version: int = 0, prefixed: bool = True) -> bytes:
    """The bytes of a file, as the runtime writes it."""
    data = serialize_to_etdump_flatcc(schema.ETDumpFlatCC(version, list(runs)))
    return struct.pack("<I", len(data)) + data if prefixed else data


def three_runs() -> bytes:
    """A load, then three runs of an instruction, which takes 1, 2 and 3 ms, and of a delegate with two operators."""
    runs = [run(profile("Program::load_method", 5, 5 + MS), name="Default")]
    for k in range(1, 4):
        t = 10 * MS * k
        runs.append(
            run(
                profile("native_call_add.out", t, t + k * MS - MS // 2, 0),
                profile("OPERATOR_CALL", t, t + k * MS, 0),
                profile(None, t + 4 * MS, t + 4 * MS + MS // 2, 1, 7, f"conv {k}".encode()),
                profile(None, t + 5 * MS, t + 6 * MS, 1, "gemm"),
                profile("DELEGATE_CALL", t + 4 * MS, t + 6 * MS, 1),
                profile("Method::execute", t, t + 7 * MS),
            )
        )
    return dump(*runs)
