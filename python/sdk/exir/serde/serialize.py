# SPDX-License-Identifier: BSD-3-Clause
"""Exported programs as data, before they are lowered or in edge dialect. A lowered program is saved as `.pte` by
`ExecutorchProgramManager`."""

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
from torch._export.verifier import Verifier, load_verifier
from torch.export import ExportedProgram

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically
from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir._serialize._tensor_data import Data
from sdk.exir._serialize.data_serializer import DataEntry
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.capture._config import EdgeCompileConfig
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.lowered_backend_module import LoweredBackendModule
from sdk.exir.scalar_type import ScalarType
from sdk.exir.serde import _graph
from sdk.exir.tensor_layout import TensorLayout
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier

SCHEMA_VERSION = (5, 4)
"""The version that ExecuTorch 1.4 reads."""


def serialize(exported_program: ExportedProgram, opset_version: dict[str, int] | None = None) -> SerializedArtifact:
    """A program in ATen or edge dialect as JSON, with its weights, constants and example inputs as `torch.save` writes
    them. Lowered modules are kept with the program that they were made from."""
    program, constants = _to_dict(exported_program, opset_version)
    return SerializedArtifact(
        json.dumps(program, cls=torch_serde.EnumEncoder).encode(),
        torch_serde.serialize_torch_artifact(exported_program.state_dict),
        torch_serde.serialize_torch_artifact(constants),
        torch_serde.serialize_torch_artifact(exported_program.example_inputs),
    )


def deserialize(artifact: SerializedArtifact) -> ExportedProgram:
    """The program of `serialize`, or of the original's. Runs no code of the file: weights and inputs are loaded as
    tensors and plain values only. Raises ExportError if the data is not a program."""
    try:
        program = json.loads(artifact.exported_program)
        return _from_dict(program, artifact.state_dict, artifact.constants, artifact.example_inputs)
    except ExportError:
        raise
    except Exception as error:  # torch's reader asserts, and fails in many ways, on data that is no program
        raise ExportError(
            ExportErrorType.INVALID_INPUT_TYPE,
            f"the data is not a serialised program, or is damaged: {type(error).__name__}: {str(error)[:300]}",
        ) from error


def _to_dict(
    program: ExportedProgram, opset_version: dict[str, int] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    serializer = torch_serde.GraphModuleSerializer(program.graph_signature, program.module_call_graph)
    graph_module = serializer.serialize(_graph.portable(program.graph_module, _lowered_to_text))
    result = torch_serde._dataclass_to_dict(
        schema.ExportedProgram(
            graph_module=graph_module,
            opset_version={"aten": torch._C._get_max_operator_version(), **(opset_version or {})},
            range_constraints=torch_serde.serialize_range_constraints(program.range_constraints),
            schema_version=schema.SchemaVersion(*SCHEMA_VERSION),
            verifiers=[v.dialect for v in program.verifiers],
            torch_version=torch.__version__,
        )
    )
    _graph.to_file(result, SCHEMA_VERSION)
    return result, {**serializer.custom_objs, **program.constants}


def _from_dict(program: dict[str, Any], state: bytes, constants: bytes, inputs: bytes) -> ExportedProgram:
    major = program["schema_version"]["major"]
    if major not in (SCHEMA_VERSION[0], schema.SCHEMA_VERSION[0]):
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"the program has schema version {major}, this version reads {SCHEMA_VERSION[0]} and "
            f"{schema.SCHEMA_VERSION[0]}; export the model again",
        )
    _graph.from_file(program)
    data = torch_serde._dict_to_dataclass(schema.ExportedProgram, program)
    ranges = {
        name: torch_serde.symbolic_shapes.ValueRanges(
            torch_serde._int_to_sympy_int(r.min_val, -torch_serde.int_oo),
            torch_serde._int_to_sympy_int(r.max_val, torch_serde.int_oo),
        )
        for name, r in data.range_constraints.items()
    }
    read = torch_serde.GraphModuleDeserializer().deserialize(
        data.graph_module, _tensors(state), _tensors(constants), _tensors(inputs) if inputs else None, ranges
    )
    _graph.restore(read.graph_module, _text_to_lowered)
    return ExportedProgram(
        root=read.graph_module,
        graph=read.graph_module.graph,
        graph_signature=read.signature,
        state_dict=read.state_dict,
        range_constraints={read.names_to_symbols[n]: r for n, r in ranges.items() if n in read.names_to_symbols},
        module_call_graph=read.module_call_graph,
        example_inputs=read.example_inputs,
        constants=read.constants,
        verifiers=[_verifier(dialect) for dialect in data.verifiers],
    )


def _tensors(data: bytes) -> Any:
    """What `torch.save` wrote; never unpickles anything that could run code."""
    return torch.load(io.BytesIO(data), weights_only=True) if data else {}


def _verifier(dialect: str) -> type[Verifier]:
    if dialect != "EDGE":
        return load_verifier(dialect)
    # A record is read to be looked at; whether its operators are in the core set was checked when it was made.
    return EXIREdgeDialectVerifier(EdgeCompileConfig(_check_ir_validity=False), class_only=True)


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


_MEMORY_PADDING = "sdk.memory_padding"
"""The key of the CompileSpec that keeps `memory_padding` in a file: the original refuses fields it does not know."""


def _padding_to_specs(padding: int) -> list[CompileSpec]:
    return [CompileSpec(_MEMORY_PADDING, str(padding).encode())] if padding else []


def _text_to_lowered(text: str) -> LoweredBackendModule:
    data = json.loads(text)
    specs = [CompileSpec(c["key"], _graph.decode(c["value"])) for c in data["compile_specs"]]
    lowered = LoweredBackendModule(
        _from_dict(
            data["original_module"],
            _graph.decode(data["original_state_dict"]),
            _graph.decode(data["original_constants"]),
            b"",
        ),
        data["backend_id"],
        _graph.decode(data["processed_bytes"]),
        [spec for spec in specs if spec.key != _MEMORY_PADDING],
        _named_data(json.loads(data["named_data_store"])) if data.get("named_data_store") else None,
    )
    for spec in specs:
        if spec.key == _MEMORY_PADDING:
            lowered.meta["memory_padding"] = int(spec.value)
    return lowered


def _named_data(data: dict[str, Any]) -> Any:
    def entries(by_key: dict[str, Any]) -> dict[str, DataEntry]:
        made = {}
        for key, entry in by_key.items():
            layout = entry["tensor_layout"]
            if layout is not None:
                layout = TensorLayout(ScalarType(layout["scalar_type"]), layout["sizes"], layout["dim_order"])
            made[key] = DataEntry(entry["buffer_index"], entry["alignment"], layout)
        return made

    buffers: list[Data] = [_graph.decode(buffer) for buffer in data["buffers"]]
    external = {file: entries(by_key) for file, by_key in data["external_data"].items()}
    return NamedDataStoreOutput(buffers, entries(data["pte_data"]), external)


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
    """Reads a `.pt2` file of `save` or of `torch.export.save`. The values of `extra_files` are filled in: text for
    what is in the file. Raises ExportError for an archive whose program is damaged."""
    data = f if isinstance(f, (str, os.PathLike)) else io.BytesIO(f.read())
    if not _has_edge_archive(data):
        return torch.export.load(data, extra_files=extra_files)
    with zipfile.ZipFile(data) as file:
        names = set(file.namelist())
        if missing := [name for name in _PARTS if name not in names]:
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE,
                f"the archive of a program is damaged: it has no {', '.join(missing)}; save the program again",
            )
        artifact = SerializedArtifact(**{field: file.read(name) for name, field in _PARTS.items()})
        for name in extra_files or {}:
            if _EXTRA + name in names:
                assert extra_files is not None
                extra_files[name] = file.read(_EXTRA + name).decode()
    return deserialize(artifact)


def _has_edge_archive(data: str | os.PathLike[str] | io.BytesIO) -> bool:
    """Whether a file is an archive of `save` and not one of torch; `data` is left at its start."""
    if not zipfile.is_zipfile(data):
        found = False
    else:
        with zipfile.ZipFile(data) as file:
            found = next(iter(_PARTS)) in file.namelist()
    if isinstance(data, io.BytesIO):
        data.seek(0)
    return found


def _is_aten(program: ExportedProgram) -> bool:
    return not program.verifiers or program.verifiers[0].dialect in ("ATEN", "TRAINING")
