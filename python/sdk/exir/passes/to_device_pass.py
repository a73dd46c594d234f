# SPDX-License-Identifier: BSD-3-Clause
"""Moves a graph module to a device."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass


class ToDevicePass(ExportPass):
    """Moves the weights to a device, and sets the `device` argument of operators that create tensors."""

    def __init__(self, device: str | torch.device, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.device = torch.device(device)

    def call(self, graph_module: GraphModule) -> PassResult:
        graph_module = graph_module.to(self.device)
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    if node.op == "call_function" and "device" in node.kwargs:
                        node.update_kwarg("device", self.device)
                module.recompile()
        return PassResult(graph_module, True)
