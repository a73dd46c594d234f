# SPDX-License-Identifier: BSD-3-Clause
"""`Rank0ToRank1Pass`: gives inputs of rank 0 the shape [1, 1], for backends without scalars."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass


class Rank0ToRank1Pass(ExportPass):
    """Gives each input tensor without dimensions the shape [1, 1], as ExecuTorch does. Results broadcast from it."""

    def __init__(self) -> None:
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in graph_module.graph.nodes:
            value = node.meta.get("val")
            if node.op == "placeholder" and isinstance(value, torch.Tensor) and value.dim() == 0:
                node.meta["val"] = value.reshape(1, 1)
                modified = True
        graph_module.recompile()
        return PassResult(graph_module, modified)
