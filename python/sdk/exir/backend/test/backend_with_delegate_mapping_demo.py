# SPDX-License-Identifier: BSD-3-Clause
"""A backend that fuses and decomposes, and says with a debug handle map which nodes its instructions came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch.export import ExportedProgram

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.utils import DelegateMappingBuilder
from sdk.exir.dialects._ops import ops as exir_ops


@dataclass
class DummyOp:
    """An instruction and its number in the payload."""

    op: str
    delegate_debug_identifier: int | str

    def serialize(self) -> str:
        """`name,identifier,`"""
        return f"{self.op},{self.delegate_debug_identifier},"


@final
class BackendWithDelegateMappingDemo(BackendDetails):
    """Delegates convolution followed by relu as one instruction, and tan as three."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        builder = DelegateMappingBuilder(generated_identifiers=True)
        instructions: list[DummyOp] = []
        for node in edge_program.graph.nodes:
            if node.op != "call_function":
                continue
            if node.target is exir_ops.edge.aten.relu.default:
                producer = node.args[0]
                if producer.target is exir_ops.edge.aten.convolution.default:
                    identifier = builder.insert_delegate_mapping_entry([producer, node])
                    instructions.append(DummyOp("conv_relu_op", identifier))
                    continue
            elif node.target is exir_ops.edge.aten.tan.default:
                for step in ("sin", "cos", "div"):
                    identifier = builder.insert_delegate_mapping_entry(node)
                    instructions.append(DummyOp(f"{step}_decomp_from_tan", identifier))
                continue
            elif _is_convolution_before_relu(node):
                continue  # It is part of the instruction of its relu.
            raise RuntimeError(
                f"BackendWithDelegateMappingDemo takes convolution followed by relu, and tan; node {node.name} is "
                "neither"
            )
        payload = f"{len(instructions)}#{''.join(i.serialize() for i in instructions)}"
        return PreprocessResult(payload.encode(), builder.get_delegate_mapping())  # type: ignore[arg-type]

    @staticmethod
    def get_test_model_and_inputs() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
        """A model that the backend takes whole, and an input for it (N, C, H, W)."""
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 3, 3, padding=1), torch.nn.ReLU()
        )
        return _Tan(model), (torch.ones(1, 3, 8, 8),)


def _is_convolution_before_relu(node: torch.fx.Node) -> bool:
    relu = exir_ops.edge.aten.relu.default
    return node.target is exir_ops.edge.aten.convolution.default and all(user.target is relu for user in node.users)


class _Tan(torch.nn.Module):
    def __init__(self, body: torch.nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tan(self.body(x))
