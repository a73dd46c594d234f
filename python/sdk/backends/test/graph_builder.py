# SPDX-License-Identifier: BSD-3-Clause
"""`GraphBuilder`: graphs of chosen calls, for tests of passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.fx import CodeGen, Graph, GraphModule, Interpreter
from torch.utils._pytree import tree_map_only

from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class GraphBuilder(ExportPass):
    """Builds a graph call by call.

    builder = GraphBuilder()
    x = builder.placeholder("x", torch.randn(2, 3))
    builder.output([builder.call_operator(exir_ops.edge.aten.relu.default, (x,))])
    graph_module = builder.get_graph_module()
    """

    def __init__(self, fake_tensor_mode: FakeTensorMode | None = None) -> None:
        self.tracer = self.ExportTracer(self, CodeGen())
        self.fake_tensor_mode = fake_tensor_mode or FakeTensorMode(
            allow_fallback_kernels=False, allow_non_fake_inputs=True
        )
        self.tracer.fake_tensor_mode = self.fake_tensor_mode
        self.interpreter = Interpreter(GraphModule(torch.nn.Module(), Graph()))

    def placeholder(self, target: str, fake_tensor: Tensor, meta: NodeMetadata | None = None) -> ProxyValue:
        """Adds an input that is like a tensor."""
        fake = fake_tensor if isinstance(fake_tensor, FakeTensor) else self.fake_tensor_mode.from_tensor(fake_tensor)
        return super().placeholder(target, fake, meta or NodeMetadata({}))

    def output(self, results: list[Any], meta: NodeMetadata | None = None) -> ProxyValue:
        """Ends the graph with its results."""
        return super().output(results, meta or NodeMetadata({}))

    def call_operator(
        self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, meta: NodeMetadata | None = None
    ) -> ProxyValue:
        """Adds a call."""
        return super().call_operator(op, args, kwargs or {}, meta or NodeMetadata({}))

    def call_getitem(self, value: ProxyValue, key: int, meta: NodeMetadata | None = None) -> ProxyValue:
        """Takes one of several results."""
        return super().call_getitem(value, key, meta or NodeMetadata({}))

    def get_graph_module(self) -> GraphModule:
        """The graph, with its inputs in front."""
        graph = self.tracer.graph
        first = next((node for node in graph.nodes if node.op != "placeholder"), None)
        if first is not None:
            for node in graph.find_nodes(op="placeholder"):
                first.prepend(node)
        return GraphModule(self.tracer.root, graph)

    def _fx(self, kind: str, target: Any, args: Any, kwargs: Any, meta: NodeMetadata) -> ProxyValue:
        with self.fake_tensor_mode, enable_python_dispatcher():
            return super()._fx(kind, target, args, kwargs, meta)


def single_op_builder(
    placeholders: Sequence[Tensor], op: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> GraphModule:
    """A graph of one call. Tensors of `placeholders` among its arguments become inputs."""
    builder = GraphBuilder()
    inputs = [builder.placeholder(f"p_{at}", tensor) for at, tensor in enumerate(placeholders)]

    def of(value: Tensor) -> Any:
        return next((new for old, new in zip(placeholders, inputs, strict=True) if old is value), value)

    mapped = tree_map_only(Tensor, of, (tuple(args), dict(kwargs or {})))
    builder.output([builder.call_operator(op, *mapped)])
    return builder.get_graph_module()
