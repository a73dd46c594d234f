# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models for Core ML, and runs the lowered programs with the interpreter instead of Core ML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.export import export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler import CoreMLBackend
from sdk.backends.apple.coreml.partition import CoreMLPartitioner
from sdk.backends.apple.coreml.verify import CoreMLProgram
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.lowered_backend_module import get_lowered_submodules

ct = coremltools()
FP32, FP16 = ct.precision.FLOAT32, ct.precision.FLOAT16


def in_float32() -> CoreMLPartitioner:
    """The partitioner for the conformance suite, which compares with eager."""
    return CoreMLPartitioner(compile_specs=CoreMLBackend.generate_compile_specs(compute_precision=FP32))


class Lowered:
    """A lowered model. States and changed buffers are kept between runs."""

    def __init__(self, manager: Any, method: str = "forward") -> None:
        self.manager = manager
        self.method = method
        self.program = manager.exported_program(method)
        self.delegates = {name: module for name, module, _ in get_lowered_submodules(self.program.graph_module)}
        self.programs = {name: self._program(module) for name, module in self.delegates.items()}
        self.buffers: dict[str, torch.Tensor] = {}

    def _program(self, module: Any) -> CoreMLProgram:
        store = module.named_data_store_output

        def named(key: str) -> bytes:
            return store.buffers[store.pte_data[key].buffer_index]

        return CoreMLProgram.from_payload(module.processed_bytes, named)

    @property
    def outside(self) -> list[str]:
        """The operators that are not delegated."""
        return [str(getattr(node.target, "_op", node.target)) for node in get_non_lowered_nodes(self.program.graph)]

    @property
    def refusals(self) -> dict[str, dict[str, str]]:
        """Why nodes are not delegated, by the nodes' names."""
        return {node.name: get_refusals(node) for node in get_non_lowered_nodes(self.program.graph)}

    @property
    def operations(self) -> dict[str, int]:
        """The operations of all delegates."""
        counts: dict[str, int] = {}
        for program in self.programs.values():
            for name, count in program.function(self.method).operations().items():
                counts[name] = counts.get(name, 0) + count
        return counts

    def run(self, *inputs: Any) -> list[torch.Tensor]:
        """The outputs of a run."""
        signature = self.program.graph_signature
        tensors = {**self.program.constants, **self.program.state_dict, **self.buffers}
        given = iter(pytree.tree_leaves(inputs))
        arguments = [
            next(given) if spec.kind == InputKind.USER_INPUT else tensors[spec.target] for spec in signature.input_specs
        ]
        with torch.no_grad():
            results = _Run(self).run(*arguments)
        returned = []
        for spec, result in zip(signature.output_specs, results, strict=True):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self.buffers[spec.target] = result
            elif spec.kind == OutputKind.USER_OUTPUT:
                returned.append(result)
        return returned


class _Run(Interpreter):
    def __init__(self, lowered: Lowered) -> None:
        super().__init__(lowered.program.graph_module)
        self._lowered = lowered

    def run_node(self, n: Node) -> Any:
        if n.target is not executorch_call_delegate:
            return super().run_node(n)
        program = self._lowered.programs[str(n.args[0].target)]
        inputs = [self.env[argument] for argument in n.args[1:]]
        results = program.run(self._lowered.method, inputs)
        expected = pytree.tree_leaves(n.meta["val"])
        assert len(results) == len(expected)
        return [
            result.reshape(value.shape if all(isinstance(s, int) for s in value.shape) else result.shape).to(
                value.dtype
            )
            for result, value in zip(results, expected, strict=True)
        ]


def lower(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    precision: Any = FP32,
    target: Any = None,
    dynamic_shapes: Any = None,
    specs: Sequence[Any] = (),
    **options: Any,
) -> Lowered:
    """Lowers a model. `options` are those of the partitioner."""
    if not isinstance(model, GraphModule):  # exported modules have no train or eval mode
        model.eval()
    program = export(model, tuple(inputs), dynamic_shapes=dynamic_shapes, strict=False)
    compile_specs = CoreMLBackend.generate_compile_specs(compute_precision=precision, minimum_deployment_target=target)
    partitioner = CoreMLPartitioner(compile_specs=[*compile_specs, *specs], **options)
    return Lowered(to_edge_transform_and_lower(program, partitioner=[partitioner]))


def difference(actual: Sequence[torch.Tensor], expected: Any) -> float:
    """The largest difference, relative to the largest magnitude of each output, or to 1 if that is smaller."""
    wanted = [leaf for leaf in pytree.tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
    assert len(actual) == len(wanted)
    worst = 0.0
    for have, want in zip(actual, wanted, strict=True):
        assert have.shape == want.shape and have.dtype == want.dtype, (have.shape, have.dtype, want.shape, want.dtype)
        if not want.numel():
            continue
        have, want = have.detach().to(torch.float64), want.detach().to(torch.float64)
        special = ~torch.isfinite(want)
        if not torch.equal(have[special].nan_to_num(0.5), want[special].nan_to_num(0.5)):
            return float("inf")
        have, want = have[~special], want[~special]
        if want.numel():
            error = (have - want).abs().max() / want.abs().max().clamp(min=1.0)
            worst = max(worst, float(error) if torch.isfinite(have).all() else float("inf"))
    return worst
