# SPDX-License-Identifier: BSD-3-Clause
"""Exported programs as data: before they are lowered, in edge dialect, or emitted. What runs on devices is the `.pte`
file that `ExecutorchProgramManager` saves."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde import serialize as torch_serde
from torch._export.serde.serialize import SerializedArtifact
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, TensorArgument

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically
from sdk.exir._serialize._untrusted import read_json
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.branch_constants import lift_branch_constants, reads_attributes
from sdk.exir.graph.programs import assemble, copy_program, copy_signature
from sdk.exir.serde import _graph
from sdk.exir.serde._pt2 import Archive
from sdk.exir.serde._read import (
    MEMORY_PADDING,
    SCHEMA_VERSION,
    from_dict,
    read_inputs,
    read_weights,
    reading,
)


def serialize(exported_program: ExportedProgram, opset_version: dict[str, int] | None = None) -> SerializedArtifact:
    """A program in ATen or edge dialect, or an emitted one, as JSON, with its weights, constants and example inputs as
    `torch.save` writes them. Lowered modules are kept with the program that they were made from."""
    program, constants = _to_dict(exported_program, opset_version)
    return SerializedArtifact(
        json.dumps(program, cls=torch_serde.EnumEncoder).encode(),
        torch_serde.serialize_torch_artifact(_weights(exported_program)),
        torch_serde.serialize_torch_artifact(constants),
        torch_serde.serialize_torch_artifact(exported_program.example_inputs),
    )


def deserialize(artifact: SerializedArtifact) -> ExportedProgram:
    """Reads the data that `serialize` of this SDK or of ExecuTorch returned. Runs no code of the file: the graph is
    checked before torch's reader gets it, and weights and inputs are tensors and plain values. Raises ExportError if
    the data is not a program."""
    with reading():
        return from_dict(
            read_json(artifact.exported_program),
            read_weights(artifact.state_dict, "weights"),
            read_weights(artifact.constants, "constants"),
            read_inputs(artifact.example_inputs),
        )


def _weights(program: ExportedProgram) -> dict[str, Any]:
    """The state dict. Parameters that passes have replaced by plain tensors become parameters again, as readers
    expect."""
    parameters = set(program.graph_signature.parameters)
    return {
        name: torch.nn.Parameter(value, requires_grad=False)
        if name in parameters and not isinstance(value, torch.nn.Parameter)
        else value
        for name, value in program.state_dict.items()
    }


def _to_dict(
    program: ExportedProgram, opset_version: dict[str, int] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    module = _graph.portable(program.graph_module, _lowered_to_text)
    copied = assemble(program, module, copy_signature(program.graph_signature))
    for spec in copied.graph_signature.output_specs:
        if spec.kind == OutputKind.TOKEN and isinstance(spec.arg, TensorArgument):
            spec.kind = OutputKind.USER_OUTPUT  # a parameter of weights_to_outputs_pass: files have no such kind
    if reads_attributes(module):
        lift_branch_constants(copied)
    serializer = torch_serde.GraphModuleSerializer(copied.graph_signature, program.module_call_graph)
    result = torch_serde._dataclass_to_dict(
        schema.ExportedProgram(
            graph_module=serializer.serialize(module),
            opset_version={"aten": torch._C._get_max_operator_version(), **(opset_version or {})},
            range_constraints=torch_serde.serialize_range_constraints(program.range_constraints),
            schema_version=schema.SchemaVersion(*SCHEMA_VERSION),
            verifiers=[v.dialect for v in program.verifiers] or ["EDGE"],  # none: an emitted program
            torch_version=torch.__version__,
        )
    )
    _graph.to_file(result, SCHEMA_VERSION)
    return result, {**serializer.custom_objs, **copied.constants}


def _lowered_to_text(lowered: torch.nn.Module) -> str:
    original, constants = _to_dict(lowered.original_module)
    named = lowered.named_data_store_output
    if named is not None:
        named = dataclasses.replace(named, buffers=[_graph.encode(bytes(b)) for b in named.buffers])
    return json.dumps(
        {
            "original_module": original,
            "original_state_dict": _graph.encode(
                torch_serde.serialize_torch_artifact(lowered.original_module.state_dict)
            ),
            "original_constants": _graph.encode(torch_serde.serialize_torch_artifact(constants)),
            "processed_bytes": _graph.encode(lowered.processed_bytes),
            "compile_specs": [
                {"key": c.key, "value": _graph.encode(bytes(c.value))}
                for c in (*lowered.compile_specs, *_padding_to_specs(lowered.memory_padding))
            ],
            "backend_id": lowered.backend_id,
            "named_data_store": None if named is None else json.dumps(dataclasses.asdict(named)),
        },
        cls=torch_serde.EnumEncoder,
    )


def _padding_to_specs(padding: int) -> list[CompileSpec]:
    return [CompileSpec(MEMORY_PADDING, str(padding).encode())] if padding else []


_PARTS = {
    "serialized_exported_program.json": "exported_program",
    "serialized_state_dict.pt": "state_dict",
    "serialized_constants.pt": "constants",
    "serialized_example_inputs.pt": "example_inputs",
}
"""The files of the original's archive, and the fields of `SerializedArtifact` in them."""

_EXTRA = "extra_files/"


def save(
    ep_save: ExportedProgram,
    f: str | os.PathLike[str] | io.BytesIO,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
) -> None:
    """Writes a program to a `.pt2` file: an ATen program as `torch.export.save` does, one in edge dialect as the
    original does."""
    if _is_aten(ep_save):
        if reads_attributes(ep_save.graph_module):
            ep_save = copy_program(ep_save)
            lift_branch_constants(ep_save)
        torch.export.save(ep_save, f, extra_files=extra_files, opset_version=opset_version)
        return
    artifact = serialize(ep_save, opset_version)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, field in _PARTS.items():
            file.writestr(name, getattr(artifact, field))
        file.writestr("version", ".".join(map(str, SCHEMA_VERSION)))
        for name, content in (extra_files or {}).items():
            file.writestr(_EXTRA + name, content)
    if isinstance(f, (str, os.PathLike)):
        write_atomically(Path(f), Cord(archive.getvalue()))
    else:
        f.write(archive.getvalue())


def load(f: str | os.PathLike[str] | io.BytesIO, *, extra_files: dict[str, Any] | None = None) -> ExportedProgram:
    """Reads a `.pt2` file of `save` or of `torch.export.save`, without running anything of it. The values of
    `extra_files` are filled in with the text of the members that the file has. Raises ExportError for a file that is
    damaged, that contains objects other than tensors, or that calls operators which are not registered."""
    if not isinstance(f, (str, os.PathLike)):
        if f.seekable():
            f.seek(0)  # `save` leaves a file at its end
        f = io.BytesIO(f.read())
    archive = Archive(f)
    members = archive.members
    if next(iter(_PARTS)) in members:
        if missing := [name for name in _PARTS if name not in members]:
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE,
                f"the archive of a program is damaged: it has no {', '.join(missing)}; save the program again",
            )
        program = deserialize(SerializedArtifact(**{field: members[name] for name, field in _PARTS.items()}))
        texts = {n: members[_EXTRA + n].decode() for n in extra_files or {} if _EXTRA + n in members}
    else:
        programs, texts = archive.programs(), archive.extra_files()
        if "model" not in programs:
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE,
                f"the archive has {'the programs ' + ', '.join(programs) if programs else 'no program'}; expected what "
                "torch.export.save writes",
            )
        program = programs["model"]
    if extra_files is not None:
        extra_files.update(texts)
    return program


def _is_aten(program: ExportedProgram) -> bool:
    return bool(program.verifiers) and program.verifiers[0].dialect in ("ATEN", "TRAINING")
