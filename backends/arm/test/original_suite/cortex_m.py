# SPDX-License-Identifier: BSD-3-Clause
"""The names that the original's tests import from `backends.cortex_m.test.tester`. The kernels of this machine replace
Arm's simulator: firmware gives the same bits (tests/baremetal)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import export
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.cortex_m.edge import edge_compile_config
from sdk.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from sdk.backends.cortex_m.quantizer import CortexMQuantizer
from sdk.backends.cortex_m.target_config import CortexMTargetConfig
from sdk.exir import EdgeProgramManager, to_edge
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer


@dataclass
class McuTestCase:
    """A model and its inputs; either may be a function that creates them."""

    model: nn.Module
    example_inputs: Any

    def get_example_inputs(self) -> tuple[Any, ...]:
        return _made(self.example_inputs)


def _made(inputs: tuple[Any, ...] | Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    return inputs() if callable(inputs) else inputs


def ramp_tensor(start: float, end: float, shape: tuple[int, ...]) -> Tensor:
    return torch.linspace(start, end, steps=torch.Size(shape).numel()).reshape(shape)


class AddModel(nn.Module):
    """`Model` and `ModelAlpha` of the original's suite of operators."""

    def __init__(self, alpha: float = 1) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Any, y: Any) -> Tensor:
        return x + y if self.alpha == 1 else torch.add(x, y, alpha=self.alpha)


class MulModel(nn.Module):
    def forward(self, x: Any, y: Any) -> Tensor:
        return x * y


class CortexMTester:
    """Quantises and lowers a model, and compares its results with those of the quantised model."""

    def __init__(
        self, module: nn.Module, example_inputs: Any, target_config: CortexMTargetConfig | None = None
    ) -> None:
        self.module, self.example_inputs = module.eval(), _made(example_inputs)
        self.target_config = target_config
        self.program: Any = None
        self.edge: Any = None

    def quantize(self, samples: Sequence[tuple[Any, ...]] | None = None) -> None:
        prepared = prepare_pt2e(export(self.module, self.example_inputs, strict=True).module(), CortexMQuantizer())
        for sample in samples or [self.example_inputs]:
            prepared(*sample)
        self.program = export(convert_pt2e(prepared), self.example_inputs, strict=True)

    def to_edge(self) -> None:
        self.edge = to_edge(copy.deepcopy(self.program), compile_config=edge_compile_config())

    def run_passes(self) -> None:
        lowered = CortexMPassManager(self.edge.exported_program(), target_config=self.target_config).transform()
        self.edge = EdgeProgramManager(lowered, None, edge_compile_config())

    def get_artifact(self, _: Any) -> Any:
        return self.edge

    def check_count(self, counts: Mapping[str, int]) -> None:
        code = self.edge.exported_program().graph_module.code
        found = {name: code.count(f"{name}(") for name in counts}
        assert found == dict(counts), code

    def compare(self, found: Any, qtol: float, atol: float) -> None:
        expected = pytree.tree_leaves(self.program.module()(*copy.deepcopy(self.example_inputs)))
        (output,) = (node for node in self.program.graph.nodes if node.op == "output")
        scales = [float(node.args[1]) for node in output.args[0] if "dequantize_per_tensor" in str(node.target)]
        tolerance = atol + qtol * (scales[0] if scales else 0.0)
        for ours, wanted in zip(pytree.tree_leaves(found), expected, strict=True):
            torch.testing.assert_close(ours, wanted, atol=tolerance, rtol=1e-3, equal_nan=True)

    def test_dialect(
        self,
        ops_before_transforms: Mapping[str, int],
        ops_after_transforms: Mapping[str, int],
        qtol: float = 0,
        atol: float = 1e-3,
        calibration_samples: Any = None,
    ) -> None:
        """The operators in Python."""
        self.quantize(calibration_samples)
        self.to_edge()
        self.check_count(ops_before_transforms)
        self.run_passes()
        self.check_count(ops_after_transforms)
        self.compare(self.edge.exported_program().module()(*copy.deepcopy(self.example_inputs)), qtol, atol)

    def test_implementation(self, qtol: float = 0, atol: float = 1e-3, calibration_samples: Any = None) -> None:
        """The kernels."""
        self.quantize(calibration_samples)
        self.to_edge()
        self.run_passes()
        program = _load_for_executorch_from_buffer(copy.deepcopy(self.edge).to_executorch().buffer)
        self.compare(program.forward(pytree.tree_leaves(self.example_inputs)), qtol, atol)
