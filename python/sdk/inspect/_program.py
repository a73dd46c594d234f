# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a `.pte`, a `.ptd` and a `.bpte`. Their segments are measured, not interpreted."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sdk.devtools.bundled_program.schema import bundled_program_schema as bundle_schema
from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from sdk.devtools.element_types import type_name
from sdk.devtools.report.facts import MethodFacts, program_facts
from sdk.exir import schema
from sdk.exir._serialize._flat_tensor import _deserialize_to_flat_tensor
from sdk.exir._serialize._flat_tensor import _get_extended_header as _flat_tensor_header
from sdk.exir._serialize._flatbuffer import FlatbufferError
from sdk.exir._serialize._flatbuffer_program import _flatbuffer_to_program
from sdk.exir._serialize._program import _get_extended_header
from sdk.exir.scalar_type import ScalarType
from sdk.inspect._checks import check_indices

Facts = dict[str, Any]

_DYNAMIC = {
    schema.TensorShapeDynamism.STATIC: "static",
    schema.TensorShapeDynamism.DYNAMIC_BOUND: "bounded",
    schema.TensorShapeDynamism.DYNAMIC_UNBOUND: "unbounded",
}


def program(data: bytes | memoryview) -> Facts:
    """Facts of a `.pte`. Raises FlatbufferError if the bytes are damaged."""
    view = memoryview(data)
    header = _get_extended_header(bytes(view[:64]))
    size = header.program_size if header else len(view)
    if size > len(view):
        raise FlatbufferError(f"expected {size} bytes of program, found a file of {len(view)}: it is cut off")
    content = _flatbuffer_to_program(view[:size])
    check_indices(content)
    base = header.segment_base_offset if header else size
    segments = _segments(content, base, len(view))
    facts = program_facts(content)
    return {
        "version": content.version,
        "sections": _sections(size, segments, len(view)),
        "methods": [
            _method(plan, method, content, segments)
            for plan, method in zip(content.execution_plan, facts.methods, strict=True)
        ],
        "constants": {"count": _constant_count(content), "bytes": facts.weight_bytes},
        "named_data": [
            {"key": entry.key, "bytes": segments[entry.segment_index]["bytes"]} for entry in content.named_data or ()
        ],
        "external_data": sorted(set(_external(content))),
    }


def _constant_count(content: schema.Program) -> int:
    inline = len(content.constant_buffer)
    offsets = content.constant_segment.offsets if content.constant_segment is not None else []
    return max(inline, len(offsets), 1) - 1  # the first one is a placeholder


def _external(content: schema.Program) -> list[str]:
    extras = [
        value.val.extra_tensor_info
        for plan in content.execution_plan
        for value in plan.values
        if isinstance(value.val, schema.Tensor)
    ]
    return [
        extra.fully_qualified_name or ""
        for extra in extras
        if extra is not None and extra.location == schema.TensorDataLocation.EXTERNAL
    ]


def _segments(content: schema.Program, base: int, file_size: int) -> list[Facts]:
    """Each segment with its position in the file and its contents."""
    holds: dict[int, list[str]] = {}
    if content.constant_segment is not None and content.constant_segment.offsets:
        holds.setdefault(content.constant_segment.segment_index, []).append("constants")
    for mutable in content.mutable_data_segments or ():
        holds.setdefault(mutable.segment_index, []).append("initial values of buffers")
    for plan in content.execution_plan:
        for delegate in plan.delegates:
            if delegate.processed.location == schema.DataLocation.SEGMENT:
                holds.setdefault(delegate.processed.index, []).append(f"delegate {delegate.id}")
    for entry in content.named_data or ():
        holds.setdefault(entry.segment_index, []).append(f"named data {entry.key}")
    found = []
    for index, segment in enumerate(content.segments):
        start = base + segment.offset
        if start + segment.size > file_size:
            raise FlatbufferError(
                f"segment {index}: expected bytes {start} to {start + segment.size}, found a file of {file_size}: "
                "it is cut off"
            )
        names = list(dict.fromkeys(holds.get(index, ["unused"])))
        found.append({"name": ", ".join(names), "offset": start, "bytes": segment.size})
    return found


def _sections(tables: int, segments: list[Facts], file_size: int) -> list[Facts]:
    used = tables + sum(segment["bytes"] for segment in segments)
    sections: list[Facts] = [{"name": "tables", "offset": 0, "bytes": tables}, *segments]
    if file_size > used:
        sections.append({"name": "padding", "offset": None, "bytes": file_size - used})
    return sections


def _method(plan: schema.ExecutionPlan, method: MethodFacts, content: schema.Program, segments: list[Facts]) -> Facts:
    devices = {entry.buffer_idx: entry.device_type.name.lower() for entry in plan.non_const_buffer_device or ()}
    in_arena = {id: [t for t in method.tensors if t.memory_id == id] for id in method.arenas}
    return {
        "name": plan.name,
        "inputs": [_value(plan.values[index].val) for index in plan.inputs],
        "outputs": [_value(plan.values[index].val) for index in plan.outputs],
        "instructions": method.instructions,
        "operators": [{"name": name, "calls": calls} for name, calls in method.operators.most_common()],
        "delegates": _delegates(plan, content, segments),
        "memory": [
            {
                "id": id,
                "bytes": size,
                "device": devices.get(id, "cpu"),
                "tensors": [
                    {
                        "value": tensor.value,
                        "type": tensor.type,
                        "bytes": tensor.nbytes,
                        "offset": tensor.offset,
                        "first_instruction": tensor.first,
                        "last_instruction": tensor.last,
                        "made_by": tensor.made_by,
                    }
                    for tensor in in_arena[id]
                ],
            }
            for id, size in method.arenas.items()
        ],
        "buffers": [
            value.val.extra_tensor_info.fully_qualified_name
            for value in plan.values
            if isinstance(value.val, schema.Tensor)
            and value.val.allocation_info is not None
            and value.val.extra_tensor_info is not None
            and value.val.extra_tensor_info.fully_qualified_name
        ],
    }


def _delegates(plan: schema.ExecutionPlan, content: schema.Program, segments: list[Facts]) -> list[Facts]:
    calls = Counter(
        instruction.instr_args.delegate_index
        for chain in plan.chains
        for instruction in chain.instructions
        if isinstance(instruction.instr_args, schema.DelegateCall)
    )
    found = []
    for index, delegate in enumerate(plan.delegates):
        where = delegate.processed
        if where.location == schema.DataLocation.INLINE:
            size = len(content.backend_delegate_data[where.index].data)
        else:
            size = segments[where.index]["bytes"]
        specs = [{"key": spec.key, "bytes": len(spec.value)} for spec in delegate.compile_specs]
        found.append({"id": delegate.id, "calls": calls[index], "bytes": size, "compile_specs": specs})
    return found


def _value(value: Any) -> Facts:
    """Describes an input or output: a tensor, or another value with its content if the program stores one."""
    if not isinstance(value, schema.Tensor):
        numbers = {"Int": "int_val", "Double": "double_val", "Bool": "bool_val", "String": "string_val"}
        name = type(value).__name__
        held = getattr(value, numbers[name]) if name in numbers else None
        return {"type": name.lower(), **({} if held is None else {"value": held})}
    return {
        "type": "tensor",
        "dtype": type_name(ScalarType(value.scalar_type)),
        "shape": list(value.sizes),
        "dim_order": list(value.dim_order),
        "shape_dynamism": _DYNAMIC[value.shape_dynamism],
        "planned": value.allocation_info is not None,
    }


def data_file(data: bytes | memoryview) -> Facts:
    """Facts of a `.ptd`. Raises FlatbufferError if the bytes are damaged."""
    view = memoryview(data)
    header = _flat_tensor_header(bytes(view[:64]))
    if header is None:
        raise FlatbufferError(f"expected the header of a .ptd at byte 8, found {bytes(view[8:12])!r}: it is cut off")
    end = header.flatbuffer_offset + header.flatbuffer_size
    if end > len(view):
        raise FlatbufferError(f"expected {end} bytes of tables, found a file of {len(view)}: it is cut off")
    content = _deserialize_to_flat_tensor(view[:end])
    entries = []
    for entry in content.named_data:
        if not 0 <= entry.segment_index < len(content.segments):
            raise FlatbufferError(f"the key {entry.key!r} refers to a missing segment; the file is damaged")
        segment = content.segments[entry.segment_index]
        start = header.segment_base_offset + segment.offset
        if start + segment.size > len(view):
            raise FlatbufferError(
                f"the key {entry.key!r}: expected bytes {start} to {start + segment.size}, found a file of "
                f"{len(view)}: it is cut off"
            )
        layout = entry.tensor_layout
        tensor = (
            {}
            if layout is None
            else {
                "dtype": type_name(ScalarType(layout.scalar_type)),
                "shape": list(layout.sizes),
                "dim_order": list(layout.dim_order),
            }
        )
        entries.append({"key": entry.key, "offset": start, "bytes": segment.size, **tensor})
    # Several keys may share a segment.
    stored = sum(segment.size for segment in content.segments)
    sections: list[Facts] = [
        {"name": "tables", "offset": 0, "bytes": end},
        {"name": "data", "offset": header.segment_base_offset, "bytes": stored},
    ]
    if len(view) > end + stored:
        sections.append({"name": "padding", "offset": None, "bytes": len(view) - end - stored})
    return {"version": content.version, "sections": sections, "named_data": entries}


def bundle(data: bytes) -> Facts:
    """Facts of a `.bpte`: its test cases, and the program as `program` describes it. Raises FlatbufferError."""
    content = deserialize_from_flatbuffer_to_bundled_program(data)
    suites = [
        {
            "method": suite.method_name,
            "cases": [
                {
                    "inputs": [_bundled(value.val) for value in case.inputs],
                    "expected_outputs": [_bundled(value.val) for value in case.expected_outputs],
                }
                for case in suite.test_cases
            ],
        }
        for suite in content.method_test_suites
    ]
    sections = [
        {"name": "program", "offset": None, "bytes": len(content.program)},
        {"name": "test cases", "offset": None, "bytes": len(data) - len(content.program)},
    ]
    return {"version": content.version, "sections": sections, "suites": suites, "program": program(content.program)}


def _bundled(value: bundle_schema.ValueUnion) -> Facts:
    if isinstance(value, bundle_schema.Tensor):
        return {"type": "tensor", "dtype": type_name(value.scalar_type), "shape": list(value.sizes)}
    for kind, name, attribute in (
        (bundle_schema.Bool, "bool", "bool_val"),
        (bundle_schema.Int, "int", "int_val"),
        (bundle_schema.Double, "double", "double_val"),
    ):
        if isinstance(value, kind):
            return {"type": name, "value": getattr(value, attribute)}
    raise AssertionError("unreachable")
