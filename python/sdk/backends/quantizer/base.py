# SPDX-License-Identifier: BSD-3-Clause
"""What the quantizers of all backends do with a captured model before they annotate it."""

from __future__ import annotations

from torch.fx import GraphModule
from torchao.quantization.pt2e.quantizer import Quantizer


class BackendQuantizer(Quantizer):
    """The base class of the quantizers of backends. An override of `transform_for_annotation` calls this one first."""

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Removes checks of the example's sizes. Changes and returns `model`."""
        _drop_guards(model)
        return model


def _drop_guards(model: GraphModule) -> None:
    """Removes what checks that inputs have the example's sizes, so that the quantised model can be exported with
    dynamic sizes although it was captured without. The call counts as impure: it does not go with dead code."""
    guards = model.graph.find_nodes(op="call_module", target="_guards_fn")
    for node in guards:
        model.graph.erase_node(node)
    if guards:
        delattr(model, "_guards_fn")
        model.recompile()
