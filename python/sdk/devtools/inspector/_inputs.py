# SPDX-License-Identifier: BSD-3-Clause
"""Finds the inputs of a recorded run. The runtime records a digest of the inputs, not the inputs themselves."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

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


def flat_inputs(program: ExportedProgram, given: Any, whose: str) -> list[Any]:
    """The inputs of a call in the order of the program's graph; keys of dicts may be in any order.

    `given`: a tuple or list of positional inputs, a dict of named ones, `(args, kwargs)`, one input, or all inputs in
    the order of the graph without their structure. `whose`: the owner of the inputs, for messages.

    Raises ValueError for inputs with dicts whose structure is not that of the program's call.
    """
    spec = program.call_spec.in_spec
    is_call = (
        isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict)
    )
    if isinstance(given, Mapping):
        args, kwargs = (), given
    elif is_call:
        args, kwargs = given
    else:
        args, kwargs = tuple(given) if isinstance(given, (tuple, list)) else (given,), {}
    if spec is None or not (kwargs or any(map(_has_dict, args))):  # the order is the graph's
        return list(pytree.tree_leaves((args, kwargs)))
    positional, named = spec.children()
    names = list(program.graph_signature.user_inputs)
    if not args and positional.num_children and not named.num_children and set(kwargs) == set(names):
        return [kwargs[str(name)] for name in names]
    return [*_ordered(list(args), positional, whose), *_ordered(kwargs, named, whose)]


def _has_dict(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, (tuple, list)) and any(map(_has_dict, value)))


def _ordered(value: Any, spec: pytree.TreeSpec, place: str) -> list[Any]:
    """The leaves of a value in the order of `spec`."""
    if spec.is_leaf():
        return [value]
    children = spec.children()
    if isinstance(value, Mapping) and issubclass(spec.type, dict):
        if set(value) != set(spec.context):
            expected = ", ".join(map(repr, spec.context)) or "no names"
            raise ValueError(f"{place}: expected {expected}, found {', '.join(map(repr, value)) or 'no names'}")
        keyed = zip(spec.context, children, strict=True)
        return [leaf for key, child in keyed for leaf in _ordered(value[key], child, f"{place}[{key!r}]")]
    if isinstance(value, (tuple, list)) and spec.type in (tuple, list):
        if len(value) != len(children):
            raise ValueError(f"{place}: expected {len(children)} positional inputs or elements, found {len(value)}")
        numbered = enumerate(zip(value, children, strict=True))
        return [leaf for i, (item, child) in numbered for leaf in _ordered(item, child, f"{place}[{i}]")]
    leaves, found = pytree.tree_flatten(value)
    if found != spec:
        raise ValueError(f"{place}: expected a {spec.type.__name__}, found a {type(value).__name__}")
    return leaves


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
