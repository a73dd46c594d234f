# SPDX-License-Identifier: BSD-3-Clause
"""Exporting modules, and saving programs by name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from sdk.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager

logger = logging.getLogger(__name__)


def export_to_edge(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | None = None,
    edge_constant_methods: dict[str, Any] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    strict: bool = True,
    verbose: bool = True,
) -> EdgeProgramManager:
    """Exports a module with `torch.export.export` and lowers it to edge dialect.

    Args:
        dynamic_shapes, strict: As in `torch.export.export`.
        edge_constant_methods: Methods that return a fixed value.
        edge_compile_config: The default keeps memory formats instead of dim orders (`_skip_dim_order`), as in the
        original.
        verbose: Whether the graphs are logged, at the level INFO.
    """
    from torch.export import export

    from sdk.exir import EdgeCompileConfig, to_edge

    if not isinstance(example_inputs, tuple):
        raise TypeError(f"example_inputs: expected a tuple, found {type(example_inputs).__name__}")
    exported = export(model, example_inputs, example_kwarg_inputs, dynamic_shapes=dynamic_shapes, strict=strict)
    if verbose:
        logger.info("exported graph:\n%s", exported.graph_module)
    config = edge_compile_config or EdgeCompileConfig(_skip_dim_order=True)
    edge = to_edge(exported, constant_methods=edge_constant_methods, compile_config=config)
    if verbose:
        logger.info("edge graph:\n%s", edge.exported_program().graph_module)
    return edge


def export_to_exec_prog(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | None = None,
    edge_constant_methods: dict[str, Any] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    backend_config: ExecutorchBackendConfig | None = None,
    strict: bool = True,
) -> ExecutorchProgramManager:
    """Calls `export_to_edge`, and then `to_executorch` with `backend_config`."""
    edge = export_to_edge(
        model,
        example_inputs,
        example_kwarg_inputs=example_kwarg_inputs,
        dynamic_shapes=dynamic_shapes,
        edge_constant_methods=edge_constant_methods,
        edge_compile_config=edge_compile_config,
        strict=strict,
        verbose=False,
    )
    return edge.to_executorch(backend_config)


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Writes `<model_name>.pte` (the suffix may be given), and its external data beside it, to `output_dir`.

    The default is the working directory. The directory is created if necessary. Returns the file's path. An existing
    file is replaced completely or, after an error, not at all.
    """
    name = model_name if model_name.endswith(".pte") else f"{model_name}.pte"
    path = Path(output_dir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    prog.save(path)
    return str(path)
