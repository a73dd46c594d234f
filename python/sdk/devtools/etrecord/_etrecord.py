# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads ETRecords. `sdk.exir.record` documents their contents."""

from __future__ import annotations

import io
import json
import os
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
from torch.export import ExportedProgram

from sdk.exir.error import ExportError
from sdk.exir.record import (
    PARTS,
    ETRecord,
    ETRecordReservedFileNames,
    Target,
    _get_reference_outputs,
    _get_representative_inputs,
)

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
        edge_dialect_program: The `EdgeProgramManager` that `to_edge` returned. Lowering leaves it as it is, so it need
            not be copied before.
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
    """Reads an ETRecord of this package or of the original. Nothing in the file is executed.

    Raises RuntimeError if the file is not a record, or is damaged.
    """
    try:
        with ZipFile(etrecord_path) as file:
            members = {name: file.read(name) for name in file.namelist()}
    except BadZipFile as error:
        raise RuntimeError(
            f"Invalid etrecord file passed in: {os.fspath(etrecord_path)!r} is not a ZIP file"
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
        export_graph_id=_json(_Names.EXPORT_GRAPH_ID, members) or 0,
        edge_dialect_program=(next(iter(edge.values())) if len(edge) == 1 else edge) or None,
        graph_map=extra,
        _debug_handle_map=_json(_Names.DEBUG_HANDLE_MAP_NAME, members),
        _delegate_map=_json(_Names.DELEGATE_MAP_NAME, members),
        _instruction_id_to_num_outs_map=_json(_Names.INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME, members),
        _reference_outputs=_tensors(_Names.REFERENCE_OUTPUTS, members),
        _representative_inputs=_tensors(_Names.REPRESENTATIVE_INPUTS, members),
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


def _json(name: ETRecordReservedFileNames, members: dict[str, bytes]) -> Any:
    if name.value not in members:
        return None
    try:
        return json.loads(members[name.value])
    except ValueError as error:
        raise RuntimeError(f"the ETRecord's {name.value!r} is not JSON: the file is damaged") from error


def _tensors(name: ETRecordReservedFileNames, members: dict[str, bytes]) -> Any:
    if name.value not in members:
        return None
    try:
        return torch.load(io.BytesIO(members[name.value]), weights_only=True)
    except Exception as error:  # torch.load raises various exceptions of its readers
        raise RuntimeError(
            f"the ETRecord's {name.value!r} holds more than tensors, numbers and lists of them, or is damaged; "
            "make the record again"
        ) from error
