# SPDX-License-Identifier: BSD-3-Clause
"""The compiler: takes programs that `torch.export` captured and turns them into `.pte` files.

`to_edge(exported).to_executorch().save("model.pte")` is the whole way; see `EdgeProgramManager` for the steps
between. Importing this package is cheap: each name is loaded when it is first used.

Its folders and files in import order: each may import only from the lines above it. Of the other packages of this SDK,
they import only `sdk.extras`; `sdk.exir.hooks` finds what other packages provide for the compiler.

    base              the schema, tensors and their memory, errors, hooks: the files here that no line below names
    _serialize        bytes of `.pte` and `.ptd` files, from the schema and from tensors
    operator          properties of single operators, the operators that are registered here, and out variants
    dialects          the operators of the edge and backend dialects
    graph             copying and editing exported programs; with graph_module
    memory_planning   the lifetime of each tensor and its place in memory
    emit              instructions and values of the program, from planned graphs
    quantization      quantised embeddings, and patterns of quantised operators
    passes            single changes to graphs; with pass_base, pass_manager
    _to_edge          ATen dialect to edge dialect
    capture           options of `to_edge` and `to_executorch`
    _to_executorch    edge dialect to the form that is emitted
    verification      the rules of the edge dialect
    backend           partitioning, and calls of backends; with lowered_backend_module, submodules
    float16           captured float32 programs, computed in float16 where that is accurate
    serde             exported programs and lowered modules as files of `torch.export`
    record            what the compiler keeps for the debugging tools
    program           the managers that users hold between the steps
    backend.test      backends and partitioners for tests and documents
"""

from __future__ import annotations

from typing import Any

from sdk.extras import needing_torch

_EXPORTS = {
    "CallSpec": "sdk.exir.program._captured",
    "CaptureConfig": "sdk.exir.capture._config",
    "EdgeCompileConfig": "sdk.exir.capture._config",
    "EdgeProgramManager": "sdk.exir.program._program",
    "EmitterOutput": "sdk.exir.emit",
    "ExecutorchBackendConfig": "sdk.exir.capture._config",
    "ExecutorchProgram": "sdk.exir.program._captured",
    "ExecutorchProgramManager": "sdk.exir.program._program",
    "ExirExportedProgram": "sdk.exir.program._captured",
    "ExportGraphSignature": "torch.export",
    "ExportedProgram": "torch.export",
    "Value": "sdk.exir.tracer",
    "edge_to_executorch_passes": "sdk.exir._to_executorch",
    "emit_program": "sdk.exir.emit",
    "load": "sdk.exir.serde.serialize",
    "save": "sdk.exir.serde.serialize",
    "to_edge": "sdk.exir.program._program",
    "to_edge_transform_and_lower": "sdk.exir.program._program",
}

_SUBMODULES = frozenset(
    [
        "_serialize",
        "_warnings",
        "backend",
        "capture",
        "common",
        "control_flow",
        "debug_handle_utils",
        "delegate",
        "dialects",
        "dim_order_utils",
        "dynamic_shape",
        "emit",
        "error",
        "graph_module",
        "lowered_backend_module",
        "memory",
        "memory_planning",
        "operator",
        "pass_base",
        "pass_manager",
        "passes",
        "print_program",
        "program",
        "scalar_type",
        "schema",
        "serde",
        "sym_util",
        "tensor",
        "tensor_layout",
        "tracer",
        "types",
        "verification",
        "version",
        "wrap",
    ]
)

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    import importlib

    with needing_torch(f"{__name__}.{name}"):
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value
