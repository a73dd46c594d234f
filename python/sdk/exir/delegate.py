# SPDX-License-Identifier: BSD-3-Clause
"""`executorch_call_delegate`: the operator that runs a lowered submodule on its backend."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, get_proxy_slot, track_tensor_tree
from torch.utils import _pytree as pytree


class ExecutorchCallDelegate(HigherOrderOperator):
    """`executorch_call_delegate(lowered_module, *inputs)` returns the tuple of the lowered module's results. Both are
    flat: the leaves of the lowered module's arguments and results. If the module returns a tensor, so does the
    operator, as TorchDynamo expects.

    In Python it runs the module that was lowered, so a partly lowered graph gives the same numbers as before.
    """

    def __init__(self) -> None:
        super().__init__("executorch_call_delegate")

    def __call__(self, lowered_module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Strict export records calls with nested arguments.
        return super().__call__(lowered_module, *pytree.tree_leaves(args), **kwargs)


def run_original(lowered_module: Any, inputs: tuple[Any, ...]) -> Any:
    """Runs the original program of a lowered module on flat inputs. Returns flat results, or a tensor if the program
    returns one.
    """
    program = lowered_module.original_module
    args, kwargs = pytree.tree_unflatten(inputs, program.call_spec.in_spec)
    results = program.module()(*args, **kwargs)
    return results if isinstance(results, torch.Tensor) else tuple(pytree.tree_leaves(results))


executorch_call_delegate = ExecutorchCallDelegate()
executorch_call_delegate.fallthrough(torch._C.DispatchKey.PythonDispatcher)
executorch_call_delegate.fallthrough(torch._C.DispatchKey.PythonTLSSnapshot)
executorch_call_delegate.fallthrough(torch._C.DispatchKey.ADInplaceOrView)
executorch_call_delegate.fallthrough(torch._C.DispatchKey.AutocastCPU)


def delegate_calls(graph_module: torch.fx.GraphModule) -> list[tuple[str, Any, torch.fx.Node]]:
    """Every delegate call of a graph: the name of the lowered module, the module, and the node that calls it."""
    return [
        (str(node.args[0].target), getattr(graph_module, str(node.args[0].target)), node)
        for node in graph_module.graph.nodes
        if node.op == "call_function" and node.target is executorch_call_delegate
    ]


LOWERED_BACKEND_MODULE_TYPE = "LoweredBackendModule"


def is_lowered_module(obj: Any) -> bool:
    """Whether `obj` is a `LoweredBackendModule`, found without importing that class."""
    return type(obj).__name__ == LOWERED_BACKEND_MODULE_TYPE


def get_lowered_module_name(root: torch.nn.Module, lowered_module: torch.nn.Module) -> str:
    """The name under which `lowered_module` is an attribute of `root`; it is added as `lowered_module_<n>` if it
    is not one yet."""
    for name, module in root.named_children():
        if module is lowered_module:
            return name
    index = 0
    while hasattr(root, f"lowered_module_{index}"):
        index += 1
    setattr(root, f"lowered_module_{index}", lowered_module)
    return f"lowered_module_{index}"


@executorch_call_delegate.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)
def _run_on_cpu(lowered_module: torch.nn.Module, *args: Any) -> Any:
    return run_original(lowered_module, args)


@executorch_call_delegate.py_autograd_impl
def _run_with_autograd(lowered_module: torch.nn.Module, *args: Any) -> Any:
    with torch._C._AutoDispatchBelowAutograd():
        return executorch_call_delegate(lowered_module, *args)


@executorch_call_delegate.py_impl(FakeTensorMode)
def _run_fake(mode: FakeTensorMode, lowered_module: torch.nn.Module, *args: Any) -> Any:
    with mode:
        return run_original(lowered_module, args)


@executorch_call_delegate.py_functionalize_impl
def _run_functional(ctx: Any, lowered_module: torch.nn.Module, *args: Any) -> Any:
    with ctx.redispatch_to_next():
        return ctx.wrap_tensors(executorch_call_delegate(lowered_module, *ctx.unwrap_tensors(args)))


@executorch_call_delegate.py_impl(ProxyTorchDispatchMode)
def _trace(mode: ProxyTorchDispatchMode, lowered_module: torch.nn.Module, *args: Any) -> Any:
    result = run_original(lowered_module, args)
    name = get_lowered_module_name(mode.tracer.root, lowered_module)
    node_args = (mode.tracer.create_proxy("get_attr", name, (), {}), *pytree.tree_map(_proxy_of(mode), args))
    proxy = mode.tracer.create_proxy(
        "call_function", executorch_call_delegate, node_args, {}, name="executorch_call_delegate"
    )
    return track_tensor_tree(result, proxy, constant=None, tracer=mode.tracer)


def _proxy_of(mode: ProxyTorchDispatchMode) -> Any:
    def unwrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return get_proxy_slot(value, mode.tracer, value, lambda slot: slot.proxy)

    return unwrap
