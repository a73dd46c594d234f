# SPDX-License-Identifier: BSD-3-Clause
"""Two backends that compile the partitions of all methods at once, and one partitioner that serves both.

Payloads: `<backend>#<number of operators in all methods>#<operators of this partition>:<key>:<value>...`
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, final

from torch._export.utils import is_buffer, is_lifted_tensor_constant, is_param
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph_module import get_control_flow_submodules

_edge = exir_ops.edge.aten
_ADD_SIN = (_edge.add.Tensor, _edge.sin.default)
_SUB_COS = (_edge.sub.Tensor, _edge.cos.default)


def is_param_node(exp_prog: ExportedProgram, node: Node) -> bool:
    """Whether the value of a node is known ahead of time."""
    return is_param(exp_prog, node) or is_buffer(exp_prog, node) or is_lifted_tensor_constant(exp_prog, node)


def get_total_num_ops_in_ep(edge_programs: dict[str, list[ExportedProgram]], supported_ops: Collection[Any]) -> int:
    """Calls of supported operators in all partitions of all methods."""
    return sum(
        n.target in supported_ops for programs in edge_programs.values() for p in programs for n in p.graph.nodes
    )


def _preprocess_multimethod(
    edge_programs: dict[str, list[ExportedProgram]],
    compile_specs: dict[str, list[list[CompileSpec]]],
    supported_ops: Collection[Any],
    backend_name: str,
) -> dict[str, list[PreprocessResult]]:
    total = get_total_num_ops_in_ep(edge_programs, supported_ops)
    results: dict[str, list[PreprocessResult]] = {}
    for method, programs in edge_programs.items():
        results[method] = []
        for program, specs in zip(programs, compile_specs[method], strict=True):
            names = []
            for node in program.graph.nodes:
                if node.op != "call_function":
                    continue
                if node.target not in supported_ops:
                    raise RuntimeError(f"{node.target.__name__} is not supported in backend {backend_name}")
                names.append(node.target.__name__)
            options = "".join(f":{s.key}:{s.value!r}" for s in specs)
            payload = f"{backend_name}#{total}#{','.join(names)}{options}"
            results[method].append(PreprocessResult(payload.encode(), {}))
    return results


@final
class FirstBackendWithPreprocessAll(BackendDetails):
    """Takes add and sin."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a program with one partition like one with several."""
        made = _preprocess_multimethod({"": [edge_program]}, {"": [compile_specs]}, _ADD_SIN, "FirstBackend")
        return made[""][0]

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        return _preprocess_multimethod(edge_programs, compile_specs, _ADD_SIN, "FirstBackend")


@final
class SecondBackendWithPreprocessAll(BackendDetails):
    """Takes sub and cos."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a program with one partition like one with several."""
        made = _preprocess_multimethod({"": [edge_program]}, {"": [compile_specs]}, _SUB_COS, "SecondBackend")
        return made[""][0]

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        return _preprocess_multimethod(edge_programs, compile_specs, _SUB_COS, "SecondBackend")


class _Support(OperatorSupportBase):
    """Supports the operators of a list, and parameters, buffers and constants that only these operators read."""

    _ops: Collection[Any] = ()

    def __init__(self, original_program: ExportedProgram) -> None:
        self.original_program = original_program

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        if node.op == "placeholder":
            return is_param_node(self.original_program, node) and all(u.target in self._ops for u in node.users)
        return node.op == "call_function" and node.target in self._ops


class AddSinOperatorSupport(_Support):
    """add and sin"""

    _ops = _ADD_SIN


class SubCosOperatorSupport(_Support):
    """sub and cos"""

    _ops = _SUB_COS


@final
class BackendWithPreprocessAllPartitioner(Partitioner):
    """Gives add and sin to the first backend, sub and cos to the second. Compile specs number the operators."""

    def __init__(self) -> None:
        super().__init__()
        self.add_sin_backend_id = FirstBackendWithPreprocessAll.__name__
        self.sub_cos_backend_id = SecondBackendWithPreprocessAll.__name__

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        add_sin = DelegationSpec(self.add_sin_backend_id, [CompileSpec("sin", b"\x01"), CompileSpec("add", b"\x00")])
        sub_cos = DelegationSpec(self.sub_cos_backend_id, [CompileSpec("cos", b"\x03"), CompileSpec("sub", b"\x02")])
        tags: dict[str, DelegationSpec] = {}
        modules = [exported_program.graph_module]
        while modules:
            module = modules.pop()
            modules += [submodule for _, submodule, _ in get_control_flow_submodules(module)]
            for support, spec in (
                (AddSinOperatorSupport(exported_program), add_sin),
                (SubCosOperatorSupport(exported_program), sub_cos),
            ):
                for partition in generate_partitions_from_list_of_nodes(module, op_support=support):
                    tag = f"{spec.backend_id}_{len(tags)}"
                    tags[tag] = spec
                    for node in partition.nodes:
                        node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, tags)
