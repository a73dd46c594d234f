# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads ETRecords. `sdk.exir.record` documents their contents."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from torch.export import ExportedProgram

from sdk.exir._serialize._untrusted import ArchiveError, read_json, read_members
from sdk.exir.error import ExportError
from sdk.exir.record import (
    PARTS,
    ETRecord,
    ETRecordReservedFileNames,
    Target,
    _get_reference_outputs,
    _get_representative_inputs,
)
from sdk.exir.serde._tensor_file import TensorFileError, read_tensors

__all__ = [
    "ETRecord",
    "ETRecordReservedFileNames",
    "_get_reference_outputs",
    "_get_representative_inputs",
    "generate_etrecord",
    "parse_etrecord",
]

_Names = ETRecordReservedFileNames


def generate_etrecord(
    et_record: Target,
    edge_dialect_program: Any,
    executorch_program: Any,
    exported_program: ExportedProgram | dict[str, ExportedProgram] | None = None,
    extra_recorded_export_modules: dict[str, Any] | None = None,
) -> None:
    """Writes a record of programs that were made without `generate_etrecord=True`.

    Args:
        et_record: A path or an open binary file.
        edge_dialect_program: The `EdgeProgramManager` that `to_edge` returned. Lowering does not change it, so no copy
            is needed.
        executorch_program: What its `to_executorch()` returned, or a `BundledProgram` of it.
        exported_program: What `torch.export` returned, to compare with.
        extra_recorded_export_modules: More programs or managers, by name.
    """
    record = ETRecord()
    record.add_exported_program(exported_program)
    record.add_edge_dialect_program(edge_dialect_program)
    record.add_executorch_program(executorch_program)
    if extra_recorded_export_modules is not None:
        record.add_extra_export_modules(extra_recorded_export_modules)
    record.save(et_record)


def parse_etrecord(etrecord_path: str | os.PathLike[str]) -> ETRecord:
    """Reads an ETRecord of this package or of the original. Nothing in the file is executed, and reading takes
    memory in proportion to the size of the file.

    Raises RuntimeError if the file is not a record, or is damaged.
    """
    try:
        members = read_members(etrecord_path)
    except ArchiveError as error:
        raise RuntimeError(
            f"Invalid etrecord file passed in: {os.fspath(etrecord_path)!r} is not a ZIP file that can be read: {error}"
        ) from error
    if _Names.ETRECORD_IDENTIFIER.value not in members:
        raise RuntimeError(
            f"ETRecord identifier missing from etrecord file passed in: {os.fspath(etrecord_path)!r} has no member "
            f"{_Names.ETRECORD_IDENTIFIER.value!r}. Pass the file that ETRecord.save or generate_etrecord has written."
        )
    programs = {name: _program(name, members) for name in members if f"{name}_state_dict" in members}
    edge_name = _Names.EDGE_DIALECT_EXPORTED_PROGRAM.value
    edge = {n.removeprefix(f"{edge_name}/"): p for n, p in programs.items() if n.startswith(f"{edge_name}/")}
    if edge_name in programs:  # the older form, with a single program
        edge["forward"] = programs[edge_name]
    extra = {n: p for n, p in programs.items() if n != _Names.EXPORTED_PROGRAM.value and not n.startswith(edge_name)}
    return ETRecord(
        exported_program=programs.get(_Names.EXPORTED_PROGRAM.value),
        export_graph_id=_graph_id(members),
        edge_dialect_program=(next(iter(edge.values())) if len(edge) == 1 else edge) or None,
        graph_map=extra,
        _debug_handle_map=_map(_Names.DEBUG_HANDLE_MAP_NAME, members, _are_handles),
        _delegate_map=_map(_Names.DELEGATE_MAP_NAME, members, _is_delegate),
        _instruction_id_to_num_outs_map=_map(_Names.INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME, members, _is_count),
        _reference_outputs=_outputs(members),
        _representative_inputs=_inputs(members),
    )


def _program(name: str, members: dict[str, bytes]) -> ExportedProgram:
    missing = [name + part for part in PARTS if name + part not in members]
    if missing:
        raise RuntimeError(f"the ETRecord has {name!r} but no {missing[0]!r}: the file is damaged")
    # Both modules import torch._dynamo, which takes as long as all other imports together. Commands that read no
    # program do not need it.
    from torch._export.serde.serialize import SerializedArtifact

    from sdk.exir.serde.serialize import deserialize

    try:
        return deserialize(SerializedArtifact(members[name], *(members[name + part] for part in PARTS)))
    except ExportError as error:
        raise RuntimeError(f"the ETRecord's {name!r} cannot be read: {error}") from error


def _damaged(name: ETRecordReservedFileNames, problem: str) -> RuntimeError:
    return RuntimeError(f"the ETRecord's {name.value!r} {problem}: the file is damaged")


def _json(name: ETRecordReservedFileNames, members: dict[str, bytes]) -> Any:
    if name.value not in members:
        return None
    try:
        return read_json(members[name.value])
    except (ValueError, RecursionError) as error:
        raise _damaged(name, "is not JSON") from error


def _graph_id(members: dict[str, bytes]) -> int:
    found = _json(_Names.EXPORT_GRAPH_ID, members) or 0
    if type(found) is not int:
        raise _damaged(_Names.EXPORT_GRAPH_ID, "is not a number")
    return found


def _map(name: ETRecordReservedFileNames, members: dict[str, bytes], fits: Callable[[Any], bool]) -> Any:
    """The record's map from instruction to value, by method."""
    found = _json(name, members)
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(of_method, dict) for of_method in found.values()):
        raise _damaged(name, "is not a map of methods and instructions")
    for of_method in found.values():
        for instruction, value in of_method.items():
            if not _INSTRUCTION.fullmatch(instruction) or not fits(value):
                raise _damaged(name, f"has {value!r:.80} for the instruction {instruction[:80]!r}")
    return found


_INSTRUCTION = re.compile(r"-?\d{1,18}", re.ASCII)


def _is_count(value: Any) -> bool:
    return type(value) is int


def _are_handles(value: Any) -> bool:
    return value is None or _is_count(value) or (isinstance(value, list) and all(map(_is_count, value)))


def _is_delegate(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
        return False
    steps, values = value.get("delegate_map") or {}, value.get("value_map") or {}
    if not isinstance(steps, dict) or not isinstance(values, dict):
        return False
    return all(map(_are_handles, steps.values())) and all(map(_is_recorded, values.values()))


def _is_recorded(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and _is_count(value[0])


def _tensors(name: ETRecordReservedFileNames, members: dict[str, bytes]) -> Any:
    if name.value not in members:
        return None
    try:
        return read_tensors(members[name.value])
    except TensorFileError as error:
        raise RuntimeError(f"the ETRecord's {name.value!r} cannot be read: {error}; make the record again") from error


def _outputs(members: dict[str, bytes]) -> Any:
    found = _tensors(_Names.REFERENCE_OUTPUTS, members)
    if found is not None and not (
        isinstance(found, dict) and all(isinstance(k, str) and isinstance(v, list) for k, v in found.items())
    ):
        raise _damaged(_Names.REFERENCE_OUTPUTS, "is not a map of methods and lists of outputs")
    return found


def _inputs(members: dict[str, bytes]) -> Any:
    found = _tensors(_Names.REPRESENTATIVE_INPUTS, members)
    if found is not None and not isinstance(found, (list, tuple)):
        raise _damaged(_Names.REPRESENTATIVE_INPUTS, "is not a list of inputs")
    return found
