# SPDX-License-Identifier: BSD-3-Clause
"""`ProgramBuilder`: exported programs of chosen calls, for tests of passes and of later stages."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

from torch import Tensor
from torch._ops import OpOverload
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.utils._pytree import tree_structure

from sdk.backends.test.graph_builder import GraphBuilder
from sdk.exir import EdgeCompileConfig, EdgeProgramManager
from sdk.exir.pass_base import NodeMetadata, ProxyValue
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier

_STORED = (InputKind.PARAMETER, InputKind.BUFFER)


class IrMode(Enum):
    """The dialect of the operators that a program calls."""

    EXIR = auto()
    ATEN = auto()


class ProgramBuilder(GraphBuilder):
    """Builds a program call by call. Inputs are the caller's, parameters, buffers or constants.

    builder = ProgramBuilder()
    x = builder.placeholder("x", torch.randn(2, 3))
    weight = builder.placeholder("weight", torch.randn(2, 3), InputKind.PARAMETER)
    builder.output([builder.call_operator(exir_ops.edge.aten.mul.Tensor, (x, weight))])
    program = builder.get_program()
    """

    def __init__(
        self,
        mode: IrMode | None = None,
        _core_aten_ops_exception_list: list[OpOverload] | None = None,
        fake_tensor_mode: FakeTensorMode | None = None,
    ) -> None:
        super().__init__(fake_tensor_mode)
        self.mode = mode or IrMode.EXIR
        self.input_specs: list[InputSpec] = []
        self.output_specs: list[OutputSpec] = []
        self.state_dict: dict[str, Tensor] = {}
        self.constants: dict[str, Tensor] = {}
        self._core_aten_ops_exception_list = list(_core_aten_ops_exception_list or ())

    def placeholder(  # type: ignore[override]  # the order of ExecuTorch's arguments
        self,
        target: str,
        fake_tensor: Tensor,
        input_kind: InputKind = InputKind.USER_INPUT,
        meta: NodeMetadata | None = None,
    ) -> ProxyValue:
        """Adds an input that is like a tensor, or a parameter, buffer or constant with the tensor's values."""
        persistent = True if input_kind == InputKind.BUFFER else None
        argument = TensorArgument(target)
        self.input_specs.append(InputSpec(input_kind, argument, target=target, persistent=persistent))
        if input_kind in _STORED:
            self.state_dict[target] = fake_tensor
        elif input_kind == InputKind.CONSTANT_TENSOR:
            self.constants[target] = fake_tensor
        return super().placeholder(target, fake_tensor, meta)

    def output(  # type: ignore[override]  # the order of ExecuTorch's arguments
        self,
        results: list[Any],
        output_kinds: Sequence[OutputKind] | None = None,
        output_targets: Sequence[str | None] | None = None,
        meta: NodeMetadata | None = None,
    ) -> ProxyValue:
        """Ends the program with its results, and with the new values of the buffers that `output_targets` names."""
        kinds = [OutputKind.USER_OUTPUT] * len(results) if output_kinds is None else output_kinds
        targets = [None] * len(results) if output_targets is None else output_targets
        for result, kind, target in zip(results, kinds, targets, strict=True):
            self.output_specs.append(OutputSpec(kind, TensorArgument(result.node.name), target=target))
        return super().output(results, meta)

    def get_verifiers(self) -> list[Any] | None:
        """Returns the verifiers of the program: the rules of the edge dialect, or PyTorch's."""
        if self.mode == IrMode.ATEN:
            return None
        exceptions = self._core_aten_ops_exception_list
        config = EdgeCompileConfig(_check_ir_validity=False, _core_aten_ops_exception_list=exceptions)
        return [
            EXIREdgeDialectVerifier(
                edge_compile_config=config, core_aten_ops_exception_list=exceptions, class_only=True
            )
        ]

    def get_program(self) -> ExportedProgram:
        """The program."""
        module = self.get_graph_module()
        signature = ExportGraphSignature(self.input_specs, self.output_specs)
        structures = (tree_structure((tuple(signature.user_inputs), {})), tree_structure(signature.user_outputs))
        call = ModuleCallSignature(inputs=[], outputs=[], in_spec=structures[0], out_spec=structures[1])
        return ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=signature,
            state_dict=self.state_dict,
            constants=self.constants,
            range_constraints={},
            module_call_graph=[ModuleCallEntry("", call)],
            verifiers=self.get_verifiers(),
        )

    def get_edge_program(self) -> EdgeProgramManager:
        """A manager of the program."""
        return EdgeProgramManager(self.get_program(), core_aten_ops_exception_list=self._core_aten_ops_exception_list)
