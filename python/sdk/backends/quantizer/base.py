# SPDX-License-Identifier: BSD-3-Clause
"""`BackendQuantizer`: prepares a captured model for annotation, as all backends' quantizers require."""

from __future__ import annotations

from torch.fx import GraphModule
from torchao.quantization.pt2e.quantizer import Quantizer

from sdk.backends.quantizer.writes import replace_writes


class BackendQuantizer(Quantizer):
    """The base class of the quantizers of backends. An override of `transform_for_annotation` calls this one first."""

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Removes checks of the example's sizes, and writes in place that quantisation would lose. Changes and returns
        `model`."""
        _drop_guards(model)
        replace_writes(model)
        return model


def _drop_guards(model: GraphModule) -> None:
    """Removes the guards that check the example's sizes, so that a quantised model that was captured with fixed sizes
    can be exported with dynamic ones. Dead code elimination would keep them: they count as impure."""
    guards = model.graph.find_nodes(op="call_module", target="_guards_fn")
    for node in guards:
        model.graph.erase_node(node)
    if guards:
        delattr(model, "_guards_fn")
        model.recompile()
