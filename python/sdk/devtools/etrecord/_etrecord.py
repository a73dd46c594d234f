# SPDX-License-Identifier: BSD-3-Clause
"""`ETRecord`: the graphs and the debug maps of an exported model, as a ZIP file that the original reads too.

Members: `ETRECORD_V0`, empty, identifies the file. `exported_program`, `edge_dialect_exported_program/METHOD` and
`NAME/METHOD` are programs, each with three members beside it, `_state_dict`, `_constants` and `_example_inputs`.
The maps and `export_graph_id` are JSON; `reference_outputs` and `representative_inputs` are written by `torch.save`.
"""

from __future__ import annotations

import io
import json
import os
from enum import Enum
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

import torch
from torch.export import ExportedProgram

Target = str | os.PathLike[str] | BinaryIO | IO[bytes]

_PARTS = ("_state_dict", "_constants", "_example_inputs")


class ETRecordReservedFileNames(str, Enum):
    """Names in the file that programs of the user cannot have."""

    ETRECORD_IDENTIFIER = "ETRECORD_V0"
    EXPORTED_PROGRAM = "exported_program"
    EXPORT_GRAPH_ID = "export_graph_id"
    EDGE_DIALECT_EXPORTED_PROGRAM = "edge_dialect_exported_program"
    ET_DIALECT_GRAPH_MODULE = "et_dialect_graph_module"
    DEBUG_HANDLE_MAP_NAME = "debug_handle_map"
    DELEGATE_MAP_NAME = "delegate_map"
    INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME = "instruction_id_to_num_outs_map"
    REFERENCE_OUTPUTS = "reference_outputs"
    REPRESENTATIVE_INPUTS = "representative_inputs"

    def __str__(self) -> str:
        return self.value


_Names = ETRecordReservedFileNames


class ETRecord:
    """Made by `to_edge(..., generate_etrecord=True)` and its like, filled stage by stage; opaque to users.

    `edge_dialect_program` is one program, or a dict from method name to program if there are several. The maps are from
    method name to instruction number to what the property of `ExecutorchProgramManager` of that name says.
    """

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        export_graph_id: int | None = None,
        edge_dialect_program: ExportedProgram | dict[str, ExportedProgram] | None = None,
        graph_map: dict[str, ExportedProgram] | None = None,
        _debug_handle_map: dict[str, Any] | None = None,
        _delegate_map: dict[str, Any] | None = None,
        _instruction_id_to_num_outs_map: dict[str, Any] | None = None,
        _reference_outputs: dict[str, list[torch.Tensor]] | None = None,
        _representative_inputs: list[Any] | None = None,
    ) -> None:
        self.exported_program = exported_program
        self.export_graph_id = export_graph_id
        self.edge_dialect_program = edge_dialect_program
        self.graph_map = graph_map
        self._debug_handle_map = _debug_handle_map
        self._delegate_map = _delegate_map
        self._instruction_id_to_num_outs_map = _instruction_id_to_num_outs_map
        self._reference_outputs = _reference_outputs
        self._representative_inputs = _representative_inputs

    def copy(self) -> ETRecord:
        """A record of the same graphs, without what belongs to a program that runs."""
        return ETRecord(
            self.exported_program,
            self.export_graph_id,
            self.edge_dialect_program,
            None if self.graph_map is None else dict(self.graph_map),
        )

    def add_exported_program(self, exported_program: ExportedProgram | dict[str, ExportedProgram] | None) -> None:
        """Adds what `torch.export` returned; of several methods, `forward`. Raises RuntimeError if there is one."""
        if self.exported_program is not None or self.export_graph_id is not None:
            raise RuntimeError("Exported program already exists in the ETRecord; add it to a new one")
        if isinstance(exported_program, dict):
            exported_program = exported_program.get("forward")
        if exported_program is not None:
            self.exported_program = exported_program
            # Nodes of later graphs name the graph that they come from by this number.
            self.export_graph_id = id(exported_program.graph)

    def add_edge_dialect_program(self, edge_dialect_program: Any) -> None:
        """Adds the programs of an `EdgeProgramManager`. Raises RuntimeError if there are some."""
        if self.edge_dialect_program is not None:
            raise RuntimeError("Edge dialect program already exists in the ETRecord; add it to a new one")
        programs = _programs_of(edge_dialect_program)
        self.edge_dialect_program = next(iter(programs.values())) if len(programs) == 1 else programs

    def add_executorch_program(self, executorch_program: Any) -> None:
        """Adds the debug maps of what `to_executorch()` returned, and the test data of a `BundledProgram`. Raises
        RuntimeError if there are some."""
        held = (self._debug_handle_map, self._delegate_map, self._instruction_id_to_num_outs_map)
        if any(m is not None for m in (*held, self._reference_outputs, self._representative_inputs)):
            raise RuntimeError("Executorch program data already exists in the ETRecord; add it to a new one")
        manager = executorch_program
        if _is_bundled(executorch_program):
            self._reference_outputs = _get_reference_outputs(executorch_program)
            self._representative_inputs = _get_representative_inputs(executorch_program)
            manager = executorch_program.executorch_program
        self._debug_handle_map = manager.debug_handle_map
        self._delegate_map = manager.delegate_map
        self._instruction_id_to_num_outs_map = manager.instruction_id_to_num_outs_map

    def add_extra_export_modules(self, extra_recorded_export_modules: dict[str, Any]) -> None:
        """Adds programs, or the programs of managers, under names of the user's: as `NAME/METHOD`. Raises RuntimeError
        if a name contains one that the file uses itself."""
        added = {}
        for name, module in extra_recorded_export_modules.items():
            if taken := [str(reserved) for reserved in _Names if reserved.value in name]:
                raise RuntimeError(
                    f"{name!r} cannot be the name of a program in an ETRecord: {taken[0]!r} is a reserved name there; "
                    "choose another"
                )
            added.update({f"{name}/{method}": program for method, program in _programs_of(module).items()})
        self.graph_map = {**(self.graph_map or {}), **added}

    def update_representative_inputs(self, representative_inputs: Any) -> None:
        """Sets the inputs that the recorded outputs belong to: a list, or those of a `BundledProgram`."""
        bundled = _is_bundled(representative_inputs)
        self._representative_inputs = (
            _get_representative_inputs(representative_inputs) if bundled else representative_inputs
        )

    def update_reference_outputs(self, reference_outputs: Any) -> None:
        """Sets the outputs that are compared with: by method, a list for `forward`, or those of a `BundledProgram`."""
        if _is_bundled(reference_outputs):
            reference_outputs = _get_reference_outputs(reference_outputs)
        elif isinstance(reference_outputs, list):
            reference_outputs = {"forward": reference_outputs}
        self._reference_outputs = reference_outputs

    def save(self, path: Target) -> None:
        """Writes the record to a path, all of it or nothing, or to an open binary file.

        Raises RuntimeError if the edge dialect program or the maps of the program that runs are missing.
        """
        if not (self.edge_dialect_program and self._debug_handle_map):
            raise RuntimeError(
                "ETRecord must contain edge dialect program and executorch program to be saved: call to_executorch() "
                "and save what its get_etrecord() returns, or add them"
            )
        members = self._members()
        if isinstance(path, (str, os.PathLike)):
            from sdk.exir._serialize._cord import Cord
            from sdk.exir.program._executorch_manager import _write_atomically

            contents = io.BytesIO()
            _write_zip(contents, members)
            _write_atomically(Path(path), Cord(contents.getvalue()))
        else:
            _write_zip(path, members)

    def _members(self) -> dict[str, bytes]:
        members = {_Names.ETRECORD_IDENTIFIER.value: b""}
        if self.exported_program is not None:
            members.update(_program_members(_Names.EXPORTED_PROGRAM.value, self.exported_program))
        edge = self.edge_dialect_program
        for method, program in (edge if isinstance(edge, dict) else {"forward": edge}).items():
            members.update(_program_members(f"{_Names.EDGE_DIALECT_EXPORTED_PROGRAM}/{method}", program))
        for name, program in (self.graph_map or {}).items():
            members.update(_program_members(name if "/" in name else f"{name}/forward", program))
        maps: list[tuple[ETRecordReservedFileNames, Any]] = [
            (_Names.DEBUG_HANDLE_MAP_NAME, self._debug_handle_map),
            (_Names.DELEGATE_MAP_NAME, self._delegate_map),
            (_Names.INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME, self._instruction_id_to_num_outs_map),
            (_Names.EXPORT_GRAPH_ID, self.export_graph_id),
        ]
        for name, value in maps:
            if value is not None:
                members[name.value] = json.dumps(value).encode()
        data: list[tuple[ETRecordReservedFileNames, Any]] = [
            (_Names.REFERENCE_OUTPUTS, self._reference_outputs),
            (_Names.REPRESENTATIVE_INPUTS, self._representative_inputs),
        ]
        for name, value in data:
            if value is not None:
                buffer = io.BytesIO()
                torch.save(value, buffer)
                members[name.value] = buffer.getvalue()
        return members


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
    """Reads a record, this package's or the original's. Nothing in the file is run.

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
    if edge_name in programs:  # as it was before there could be several
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


def _programs_of(module: Any) -> dict[str, ExportedProgram]:
    """The programs of a manager, or one program as `forward`."""
    if isinstance(module, ExportedProgram):
        return {"forward": module}
    if hasattr(module, "methods") and hasattr(module, "exported_program"):
        return {method: module.exported_program(method) for method in sorted(module.methods)}
    if isinstance(getattr(module, "exported_program", None), ExportedProgram):
        return {"forward": module.exported_program}
    raise RuntimeError(
        f"An ETRecord takes what torch.export, to_edge or to_edge_transform_and_lower return, not a "
        f"{type(module).__name__}"
    )


def _is_bundled(program: Any) -> bool:
    """Whether `program` is a `BundledProgram`, whose module is imported only where it is used."""
    return hasattr(program, "method_test_suites")


def _get_reference_outputs(bundled_program: Any) -> dict[str, list[Any]]:
    """The expected outputs of a bundled program, by method, a list for each test case."""
    outputs: dict[str, list[Any]] = {}
    for suite in bundled_program.method_test_suites:
        if any(not case.expected_outputs for case in suite.test_cases):
            raise ValueError(f"Missing at least one set of expected outputs for method {suite.method_name}.")
        outputs[suite.method_name] = [case.expected_outputs for case in suite.test_cases]
    return outputs


def _get_representative_inputs(bundled_program: Any) -> list[Any] | None:
    """The inputs of the first test case of `forward`; None if there is no such method."""
    for suite in bundled_program.method_test_suites:
        if suite.method_name == "forward":
            if not suite.test_cases:
                raise ValueError("The 'forward' method is defined, but no corresponding input test cases are provided.")
            return suite.test_cases[0].inputs
    return None


def _program_members(name: str, program: ExportedProgram) -> dict[str, bytes]:
    from sdk.exir.serde.serialize import serialize

    artifact = serialize(program)
    parts = (artifact.state_dict, artifact.constants, artifact.example_inputs)
    members = {name: artifact.exported_program}
    members.update({name + part: data for part, data in zip(_PARTS, parts, strict=True)})
    return members


def _program(name: str, members: dict[str, bytes]) -> ExportedProgram:
    from torch._export.serde.serialize import SerializedArtifact

    from sdk.exir.error import ExportError
    from sdk.exir.serde.serialize import deserialize

    missing = [name + part for part in _PARTS if name + part not in members]
    if missing:
        raise RuntimeError(f"the ETRecord has {name!r} but no {missing[0]!r}: the file is damaged")
    try:
        return deserialize(SerializedArtifact(members[name], *(members[name + part] for part in _PARTS)))
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
    except Exception as error:  # torch.load raises what its readers raise
        raise RuntimeError(
            f"the ETRecord's {name.value!r} holds more than tensors, numbers and lists of them, or is damaged; "
            "make the record again"
        ) from error


def _write_zip(target: Any, members: dict[str, bytes]) -> None:
    with ZipFile(target, "w") as file:
        for name, data in members.items():
            file.writestr(ZipInfo(name), data)  # without a time, so that the same record is the same bytes
