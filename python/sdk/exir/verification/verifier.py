# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the edge dialect, checked whenever an `ExportedProgram` in edge dialect is constructed."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import torch
from torch._export.verifier import SpecViolationError, Verifier
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Graph, GraphModule, Node

from sdk.exir._messages import remember_node, source_of
from sdk.exir.capture._config import EdgeCompileConfig
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.operator.aten_rules import EXTRA_CORE_OPS, SCALAR_OPS
from sdk.exir.operator.kernel_ops import KERNEL_OPS
from sdk.exir.verification.arg_validator import describe, rejected_dtypes, scalar_in_place_of_tensor

_aten = torch.ops.aten


def _is_core(op: OpOverload) -> bool:
    if op.namespace != "aten" or torch.Tag.core in op.tags or op in EXTRA_CORE_OPS or op in KERNEL_OPS:
        return True
    name = op._schema.name.split("::")[-1]
    if name.endswith("_copy"):
        view = getattr(getattr(_aten, name.removesuffix("_copy"), None), op._overloadname, None)
        return view is not None and torch.Tag.core in view.tags
    return False


def not_core_message(op: OpOverload) -> str:
    """The error message for a program with an operator that is not in the edge dialect."""
    return f"{_not_core(op)}\n{_advice([op])}"


def _not_core(op: OpOverload) -> str:
    return (
        f"Operator torch._ops.{op} is not Aten Canonical: it is not in the Core ATen operator set "
        "(https://pytorch.org/docs/stable/torch.compiler_ir.html#core-aten-ir), and has no decomposition into it "
        "and no kernel in the portable library."
    )


def _advice(ops: list[OpOverload]) -> str:
    listed = ", ".join(f"torch.ops.{op}" for op in ops)
    it, operator = ("it", "the operator") if len(ops) == 1 else ("them", "the operators")
    return (
        f"To export {operator} as written, pass "
        f"compile_config=EdgeCompileConfig(_core_aten_ops_exception_list=[{listed}]) and make sure that a backend "
        f"takes {it} or that a kernel is linked into the runtime. To express {it} in other operators, call "
        f"exported_program.run_decompositions() with a decomposition before to_edge. "
        "If the module is only used for inference, call .eval() and export under torch.no_grad(): training uses "
        "other operators."
    )


class RefusedCallsError(SpecViolationError):
    """Calls that edge dialect does not have, of a program or of several methods, in one message.

    `calls` maps each problem to the nodes that have it; `ops` are the operators that are not core.
    """

    def __init__(self, calls: dict[str, list[Node]], ops: list[OpOverload]) -> None:
        self.calls, self.ops = calls, ops
        super().__init__(_text_of(calls, ops))


def merged(errors: Iterable[RefusedCallsError]) -> RefusedCallsError:
    """Joins the calls of several errors in one error."""
    calls: dict[str, list[Node]] = {}
    ops: dict[OpOverload, None] = {}
    for error in errors:
        ops.update(dict.fromkeys(error.ops))
        for what, nodes in error.calls.items():
            calls.setdefault(what, []).extend(nodes)
    return RefusedCallsError(calls, list(ops))


_PLACES = 5
"""Calls of one operator that a message names."""


def _text_of(calls: dict[str, list[Node]], ops: list[OpOverload]) -> str:
    advice = f"\n{_advice(ops)}" if ops else ""
    if len(calls) == 1:
        ((what, nodes),) = calls.items()
        return f"{what}{advice}{_places(nodes)}"
    texts = [f"- {what}{_places(nodes)}".replace("\n", "\n  ") for what, nodes in calls.items()]
    return f"{len(calls)} kinds of calls cannot be lowered:\n" + "\n".join(texts) + advice


def _places(nodes: list[Node]) -> str:
    lines = list(dict.fromkeys(source_of(node) or f"\nThe node is {node.name}." for node in nodes))
    more = f"\nand {len(lines) - _PLACES} other lines" if len(lines) > _PLACES else ""
    return "".join(lines[:_PLACES]) + more


def _check_calls(rules: Any, graphs: Iterable[Graph]) -> None:
    calls: dict[str, list[Node]] = {}
    ops: list[OpOverload] = []
    for graph in graphs:
        for node in graph.nodes:
            if node.op == "call_function" and isinstance(node.target, EdgeOpOverload):
                op, error = node.target._op, _violation_of(rules, node)
                if error is None:
                    continue
                is_not_core = str(error) == not_core_message(op)
                if is_not_core and op not in ops:
                    ops.append(op)
                what = _not_core(op) if is_not_core else getattr(error, "what", str(error))
                calls.setdefault(what, []).append(node)
    if calls:
        raise RefusedCallsError(calls, ops)


def _violation_of(rules: Any, node: Node) -> SpecViolationError | None:
    try:
        rules.check_valid_op(node.target)
        rules.check_node(node)
    except SpecViolationError as error:
        return error
    return None


class EXIRATenDialectVerifierBase(Verifier):
    """The verifier of ATen dialect, which calls operators of `torch.ops` and functions of numbers.
    `verifier(graph_module)` raises SpecViolationError for other calls."""

    dialect = "OLD_EXIR_ATEN_DISABLED"

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        return (OpOverload, HigherOrderOperator, types.BuiltinFunctionType)

    def __call__(self, gm: GraphModule) -> None:
        self._check_graph_module(gm)


def EXIRATenDialectVerifier(  # noqa: N802 (public name)
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: list[OpOverload] | None = None,
    preserve_ops: list[OpOverload] | None = None,
) -> Any:
    """A verifier of ATen dialect, where operators are core, custom or listed; an instance, or the class if
    `class_only`."""
    config = edge_compile_config
    exceptions = {*(core_aten_ops_exception_list or ()), *(preserve_ops or ()), *SCALAR_OPS}
    if config is not None:
        exceptions |= {*config._core_aten_ops_exception_list, *config.preserve_ops}

    class _EXIRATenDialectVerifier(EXIRATenDialectVerifierBase):
        dialect = "OLD_EXIR_ATEN"

        def check_valid_op(self, op: Any) -> None:
            check = isinstance(op, OpOverload) and (config is None or config._check_ir_validity)
            if check and op not in exceptions and not _is_core(op):
                raise SpecViolationError(not_core_message(op))

    return _EXIRATenDialectVerifier if class_only else _EXIRATenDialectVerifier()


def get_aten_verifier(config: EdgeCompileConfig) -> type[EXIRATenDialectVerifierBase]:
    """The class of the verifier of ATen dialect that `config` asks for."""
    verifier: type[EXIRATenDialectVerifierBase] = EXIRATenDialectVerifierBase
    return EXIRATenDialectVerifier(config, class_only=True) if config._check_ir_validity else verifier


def EXIREdgeDialectVerifier(  # noqa: N802 (public name)
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: list[OpOverload] | None = None,
    preserve_ops: list[OpOverload] | None = None,
) -> Any:
    """A verifier of edge dialect; an instance, or the class (which `ExportedProgram` takes) if `class_only`.

    Checks that calls go to edge operators, that these are core operators, listed in `core_aten_ops_exception_list`
    or `preserve_ops`, or custom ones, and that their tensors are strided and have dtypes that the table allows.
    `EdgeCompileConfig(_check_ir_validity=False)` accepts everything.
    """
    check_validity = edge_compile_config is None or edge_compile_config._check_ir_validity
    use_dim_order = not (edge_compile_config is not None and edge_compile_config._skip_dim_order)
    exceptions: set[Any] = {*(core_aten_ops_exception_list or ()), *(preserve_ops or ())}
    if edge_compile_config is not None:
        exceptions |= {*edge_compile_config._core_aten_ops_exception_list, *edge_compile_config.preserve_ops}
    exceptions = {op._op if isinstance(op, EdgeOpOverload) else op for op in exceptions}

    class _EXIREdgeDialectVerifier(Verifier):
        dialect = "EDGE"

        def allowed_op_types(self) -> tuple[type[Any], ...]:
            return (EdgeOpOverload, OpOverload, HigherOrderOperator, types.FunctionType, types.BuiltinFunctionType)

        def allowed_getattr_types(self) -> tuple[type[Any], ...]:
            return (torch.fx.GraphModule, torch.nn.Module, torch.Tensor, torch.utils._pytree.TreeSpec)

        def check_valid_edge_op(self, op: Any) -> None:
            """Raises unless `op` may be called in edge dialect."""
            if isinstance(op, OpOverload):
                if op in SCALAR_OPS or op.namespace == "executorch_prim" or op in exceptions:
                    return
                raise SpecViolationError(
                    f"Operator torch._ops.{op} is not an edge operator. A pass that runs after to_edge must call "
                    f"exir_ops.edge.{op} (from sdk.exir.dialects._ops import ops as exir_ops)."
                )
            if isinstance(op, types.FunctionType) and not _is_allowed_function(op):
                raise SpecViolationError(f"Function {op.__module__}.{op.__name__} is not an edge operator.")

        def check_valid_op(self, op: Any) -> None:
            if not check_validity:
                return
            self.check_valid_edge_op(op)
            if not isinstance(op, EdgeOpOverload) or op._op in exceptions:
                return
            if use_dim_order and op._op in (_aten._to_copy.default, _aten.clone.default, _aten.empty.memory_format):
                raise SpecViolationError(
                    f"Operator {op.__name__} takes a memory format, which edge dialect writes as a dim order "
                    "(dim_order_ops::_to_dim_order_copy, ::_clone_dim_order, ::_empty_dim_order). "
                    "Emit that operator, or pass EdgeCompileConfig(_skip_dim_order=True) to to_edge."
                )
            if not _is_core(op._op):
                raise SpecViolationError(not_core_message(op._op))

        def check_additional(self, gm: GraphModule) -> None:
            if not check_validity:
                return
            for node in gm.graph.nodes:
                self.check_node(node)

        def check_node(self, node: Node) -> None:
            """Raises unless edge dialect allows the tensors that `node` takes and returns."""
            if not check_validity:
                return
            if node.op in ("call_function", "placeholder"):
                _check_tensors(node)
            if isinstance(node.target, EdgeOpOverload) and node.target._op not in exceptions:
                _check_arguments(node)

        def check_calls(self, graphs: Iterable[Graph]) -> None:
            """Checks all calls of edge operators in some graphs. Raises one `RefusedCallsError` that names each that is
            not valid, with the user's source lines."""
            _check_calls(self, graphs)

        def is_valid(self, gm: GraphModule) -> bool:
            """Whether the graph module follows the rules."""
            try:
                self(gm)
            except SpecViolationError:
                return False
            return True

        def __call__(self, gm_or_program: Any) -> None:
            """Raises `SpecViolationError` unless the graph module or exported program follows the rules."""
            if isinstance(gm_or_program, GraphModule):
                self._check_graph_module(gm_or_program)
            else:
                self.check(gm_or_program)

    return _EXIREdgeDialectVerifier if class_only else _EXIREdgeDialectVerifier()


def _is_allowed_function(function: types.FunctionType) -> bool:
    modules = ("torch.", "executorch.exir.memory.", "sdk.exir.delegate.")  # and theirs, but not torchvision
    return f"{function.__module__}.".startswith(modules)


_NOT_IN_TABLE = frozenset({torch.complex32, torch.complex64, torch.complex128, torch.uint32, torch.uint64})
"""Dtypes that the table of edge dialect does not have. For them, the kernels compute what eager computes."""


def _check_arguments(node: Node) -> None:
    op = node.target
    assert isinstance(op, EdgeOpOverload)
    args, kwargs = torch.fx.node.map_aggregate(
        (node.args, node.kwargs), lambda a: a.meta.get("val") if isinstance(a, Node) else a
    )
    name = scalar_in_place_of_tensor(op, args)
    if name is not None:
        raise _violation(
            node,
            f"{op.__name__} is called with a number for `{name}`, which is a tensor in edge dialect. "
            "Run ScalarToTensorPass (sdk.exir.passes) after the pass that put the number there.",
        )
    dtypes = rejected_dtypes(op, args, kwargs, node.meta.get("val"))
    if dtypes is not None and not _NOT_IN_TABLE.intersection(dtypes.values()):
        raise _violation(
            node,
            f"{describe(op, dtypes)} If a backend takes the call as it is, list the operator in "
            f"EdgeCompileConfig(_core_aten_ops_exception_list=[torch.ops.{op._op}]).",
        )


def _violation(node: Node, text: str) -> SpecViolationError:
    no_source = f"\nThe node is {node.name}."
    error = SpecViolationError(f"{text}{source_of(node) or no_source}")
    error.what = text  # equal for all nodes with this problem
    remember_node(error, node)
    return error


def _check_tensors(node: Node) -> None:
    val = node.meta.get("val")
    for tensor in val if isinstance(val, (tuple, list)) else (val,):
        if isinstance(tensor, torch.Tensor) and tensor.layout is not torch.strided:
            raise _violation(
                node,
                f"{node.name} has layout {tensor.layout}; programs hold strided tensors only. Call .to_dense() on it.",
            )
