# SPDX-License-Identifier: BSD-3-Clause
"""`NeuropilotQuantizer`.

quantizer = NeuropilotQuantizer()
quantizer.setup_precision(Precision.A16W8)
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from torch.fx import GraphModule

from sdk.backends.mediatek._passes.decompose_scaled_dot_product_attention import DecomposeScaledDotProductAttention
from sdk.backends.mediatek.quantizer.annotator import annotate
from sdk.backends.mediatek.quantizer.qconfig import Precision, get_quant_config
from sdk.backends.quantizer.base import BackendQuantizer


class NeuropilotQuantizer(BackendQuantizer):
    """Annotates what MediaTek computes in integers: weights with a scale for each output channel, and A8W8 unless
    another precision is set."""

    def __init__(self) -> None:
        super().__init__()
        self._precision = Precision.A8W8
        self._is_per_channel = True
        self._is_qat = False

    def setup_precision(self, precision: Precision) -> None:
        """Sets the widths of activations and weights. Raises ValueError for a value that is not a precision."""
        self._precision = Precision(precision)

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Decomposes attention."""
        super().transform_for_annotation(model)
        return DecomposeScaledDotProductAttention()(model).graph_module

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the graph."""
        annotate(model.graph, get_quant_config(self._precision, self._is_per_channel, self._is_qat))
        return model

    def validate(self, model: GraphModule) -> None:
        """Every graph that `annotate` makes is valid."""
