# SPDX-License-Identifier: BSD-3-Clause
"""`ActivationFusionPass`: activation functions become limits of the operators before them."""

from __future__ import annotations

import dataclasses
import math

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cortex_m.passes.operators import ACTIVATIONS, activation_bounds
from sdk.backends.cortex_m.passes.qparams import INPUTS, OUTPUT, output_of
from sdk.exir.pass_base import ExportPass


class ActivationFusionPass(ExportPass):
    """Removes ReLU, hardtanh and clamp that `FoldAndAnnotateQParamsPass` has folded together with the operator before
    them, which gets their limits. Rounding is monotonic, so clamping integers is the same as clamping floats."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            output = output_of(node)
            if node.target not in ACTIVATIONS or output is None or INPUTS in node.meta:
                continue
            bounds = activation_bounds(node)
            assert bounds is not None  # otherwise it would not have been folded
            low, high = (
                default if math.isinf(bound) else output.quantized(bound)
                for bound, default in zip(bounds, (output.qmin, output.qmax), strict=True)
            )
            source = node.args[0]
            source.meta[OUTPUT] = {0: dataclasses.replace(output, qmin=min(low, high), qmax=high)}
            node.replace_all_uses_with(source)
            graph_module.graph.erase_node(node)
            modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)
