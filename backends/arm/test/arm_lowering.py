# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models to TOSA, and runs the delegates of the lowered programs with the TOSA reference model."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import export
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from sdk.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner, reference
from sdk.backends.arm.tosa.schema import IDENTIFIER, TOSA_FILE, Op, TosaFile
from sdk.exir import to_edge_transform_and_lower
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.exir.lowered_backend_module import get_lowered_submodules
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

FP, INT, BOTH = "TOSA-1.0+FP", "TOSA-1.0+INT", "TOSA-1.0+FP+INT"


class Call(nn.Module):
    """A model that calls a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


class Lowered:
    """A lowered program."""

    def __init__(self, edge: Any) -> None:
        self.edge = edge
        self.program = edge.exported_program()

    @property
    def payloads(self) -> list[bytes]:
        return [module.processed_bytes for _, module, _ in get_lowered_submodules(self.program.graph_module)]

    @property
    def files(self) -> list[TosaFile]:
        return [read_root(TOSA_FILE, payload, IDENTIFIER) for payload in self.payloads]

    @property
    def operators(self) -> Counter[str]:
        """The operators of all delegates."""
        names = (Op(each.op).name for file in self.files for each in file.regions[0].blocks[0].operators)
        return Counter(name for name in names if not name.startswith("CONST"))

    def left(self) -> dict[str, str]:
        """The calls that are not delegated, with the reasons."""
        return {
            node.name: f"{node.target}: " + "; ".join(get_refusals(node).values())
            for node in get_non_lowered_nodes(self.program.graph)
            if isinstance(node.meta.get("val"), Tensor)
        }

    def run(self, *inputs: Any) -> list[Tensor]:
        """The results, with the delegates' from the reference model; all else is computed by PyTorch."""

        def delegate(module: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            arrays = [_array(argument.detach().contiguous()) for argument in arguments]
            found = reference.run(module.processed_bytes, arrays)
            outputs = [node.meta["val"] for node in _results(module)]
            assert len(found) == len(outputs)
            return tuple(_tensor(array, wanted) for array, wanted in zip(found, outputs, strict=True))

        with mock.patch("sdk.exir.delegate.run_original", delegate), torch.no_grad():
            results = self.program.module()(*inputs)
        return [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor)]

    def run_by_the_runtime(self, *inputs: Any) -> list[Tensor]:
        """The results of the program."""
        program = _load_for_executorch_from_buffer(self.edge.to_executorch().buffer)
        return program.forward(pytree.tree_leaves(inputs))


def _results(module: Any) -> list[Any]:
    (output,) = (node for node in module.original_module.graph.nodes if node.op == "output")
    return list(output.args[0])


def _array(tensor: Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy()  # the reference model takes the bits
    return tensor.numpy()


def _tensor(array: np.ndarray, wanted: Tensor) -> Tensor:
    if array.dtype.kind == "V":
        tensor = torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(np.array(array))
    assert tensor.dtype == wanted.dtype and tensor.numel() == wanted.numel(), (tensor.dtype, wanted)
    return tensor.reshape(wanted.shape)


def lower(model: nn.Module, inputs: tuple[Any, ...], spec: str = FP, partitioner: Any = None) -> Lowered:
    with torch.no_grad():
        module = model if isinstance(model, GraphModule) else model.eval()
        program = export(module, inputs, strict=False)
        chosen = partitioner or TOSAPartitioner(TosaCompileSpec(spec))
        return Lowered(to_edge_transform_and_lower(program, partitioner=[chosen]))


def assert_close(found: list[Tensor], expected: Any, tolerance: float = 1e-6) -> None:
    """`tolerance` is relative to the largest number of the result, or to 1 if that is smaller."""
    wanted = [leaf for leaf in pytree.tree_leaves(expected) if isinstance(leaf, Tensor)]
    assert len(found) == len(wanted)
    for ours, eager in zip(found, wanted, strict=True):
        assert ours.dtype == eager.dtype and ours.shape == eager.shape
        if not eager.is_floating_point():
            assert torch.equal(ours, eager)
            continue
        ours, eager = ours.detach().double(), eager.detach().double()
        special = ~torch.isfinite(eager)
        assert torch.equal(ours[special].nan_to_num(0.5), eager[special].nan_to_num(0.5)), (ours, eager)
        ours, eager = ours[~special], eager[~special]
        if eager.numel():
            difference = float((ours - eager).abs().max() / eager.abs().max().clamp(min=1.0))
            assert difference <= tolerance, difference


def contents_of(file: Path) -> dict[str, Any]:
    """Returns what Arm's library reads from a VGF file."""
    package = importlib.util.find_spec("vgf_lib")
    assert package is not None and package.submodule_search_locations
    program = Path(package.submodule_search_locations[0], "binaries/bin/vgf_dump")
    return json.loads(subprocess.run([program, "-i", file], check=True, capture_output=True, text=True).stdout)
