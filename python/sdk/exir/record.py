# SPDX-License-Identifier: BSD-3-Clause
"""`ETRecord`: the graphs and the debug maps of an exported model, which the compiler keeps for the debugging tools.

Its file is a ZIP file that the original reads too; `sdk.devtools.etrecord` reads it.

Members: `ETRECORD_V0`, empty, identifies the file. `exported_program`, `edge_dialect_exported_program/METHOD` and
`NAME/METHOD` are programs. Each has three more members, named after it with the suffix `_state_dict`, `_constants` or
`_example_inputs`.
The maps and `export_graph_id` are JSON; `reference_outputs` and `representative_inputs` are written by `torch.save`.
"""

from __future__ import annotations

import io
import json
import os
from enum import Enum
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import ZipFile, ZipInfo

import torch
from torch.export import ExportedProgram

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically

Target = str | os.PathLike[str] | BinaryIO | IO[bytes]

PARTS = ("_state_dict", "_constants", "_example_inputs")


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
    """Made by `to_edge(..., generate_etrecord=True)` or `to_edge_transform_and_lower`, and filled stage by stage.

    `edge_dialect_program` is one program, or a dict from method name to program if there are several.
    `_debug_handle_map`, `_delegate_map` and `_instruction_id_to_num_outs_map` are the properties of
    `ExecutorchProgramManager` with these names (without the underscore): for each method, a dict by instruction number.
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
        """A record of the same graphs, without the data of an emitted program."""
        return ETRecord(
            self.exported_program,
            self.export_graph_id,
            self.edge_dialect_program,
            None if self.graph_map is None else dict(self.graph_map),
        )

    def add_exported_program(self, exported_program: ExportedProgram | dict[str, ExportedProgram] | None) -> None:
        """Adds the program that `torch.export` returned. From a dict of programs by method, it adds only `forward`.
        Raises RuntimeError if the record has a program."""
        if self.exported_program is not None or self.export_graph_id is not None:
            raise RuntimeError("Exported program already exists in the ETRecord; add it to a new one")
        if isinstance(exported_program, dict):
            exported_program = exported_program.get("forward")
        if exported_program is not None:
            self.exported_program = exported_program
            # Nodes of later graphs name the graph that they come from by this number.
            self.export_graph_id = id(exported_program.graph)

    def add_edge_dialect_program(self, edge_dialect_program: Any) -> None:
        """Adds the programs of an `EdgeProgramManager`. Raises RuntimeError if the record has such programs."""
        if self.edge_dialect_program is not None:
            raise RuntimeError("Edge dialect program already exists in the ETRecord; add it to a new one")
        programs = _programs_of(edge_dialect_program)
        self.edge_dialect_program = next(iter(programs.values())) if len(programs) == 1 else programs

    def add_executorch_program(self, executorch_program: Any) -> None:
        """Adds the debug maps of the manager that `to_executorch()` returned or, from a `BundledProgram`, those of its
        manager and its test data. Raises RuntimeError if the record has such maps or data."""
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
        """Adds each program, or each method of a manager, as `NAME/METHOD`, where the user chooses NAME. Raises
        RuntimeError if NAME contains a reserved name (`ETRecordReservedFileNames`)."""
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
        """Sets the inputs for which the reference outputs were computed. Takes a list, or a `BundledProgram`, from
        whose first test case of `forward` it reads them."""
        bundled = _is_bundled(representative_inputs)
        self._representative_inputs = (
            _get_representative_inputs(representative_inputs) if bundled else representative_inputs
        )

    def update_reference_outputs(self, reference_outputs: Any) -> None:
        """Sets the reference outputs, with which tools compare the results of a run. Takes a dict by method, a list
        (the outputs of `forward`), or a `BundledProgram`, whose expected outputs it uses."""
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
            contents = io.BytesIO()
            _write_zip(contents, members)
            write_atomically(Path(path), Cord(contents.getvalue()))
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
    """The inputs of the first test case of `forward`; None if there is no test suite for `forward`. Raises ValueError
    if that suite is empty."""
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
    members.update({name + part: data for part, data in zip(PARTS, parts, strict=True)})
    return members


def _write_zip(target: Any, members: dict[str, bytes]) -> None:
    with ZipFile(target, "w") as file:
        for name, data in members.items():
            file.writestr(ZipInfo(name), data)  # without a time, so that the same record is the same bytes
