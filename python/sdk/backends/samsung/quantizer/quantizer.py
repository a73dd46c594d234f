# SPDX-License-Identifier: BSD-3-Clause
"""`EnnQuantizer`.

quantizer = EnnQuantizer()
quantizer.setup_quant_params(Precision.A8W8, is_per_channel=True)
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.fx import GraphModule

from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.samsung.quantizer.annotator import annotate
from sdk.backends.samsung.quantizer.qconfig import Precision, get_quant_config, precision_of

__all__ = ["EnnQuantizer", "Precision"]


class EnnQuantizer(BackendQuantizer):
    """Annotates what Samsung computes in integers: A8W8, with a scale for each output channel of weights, unless
    `setup_quant_params` says otherwise.

    Attributes:
        custom_quant_annotations: Functions that annotate the model after the others.
    """

    def __init__(self) -> None:
        super().__init__()
        self._precision = Precision.A8W8
        self._is_per_channel = True
        self._is_qat = False
        self.custom_quant_annotations: Sequence[Callable[[GraphModule], Any]] = []

    def setup_precision(self, quant_dtype: Precision | str) -> None:
        """Sets the widths of activations and weights. Raises ValueError for an unknown precision."""
        self._precision = precision_of(quant_dtype)

    def setup_quant_params(
        self, quant_dtype: Precision | str, is_per_channel: bool = True, is_qat: bool = False
    ) -> None:
        """Sets the precision, by value or by name, whether each output channel of a weight has a scale, and whether the
        model is quantised in training. Raises ValueError for an unknown precision."""
        self.setup_precision(quant_dtype)
        self._is_per_channel, self._is_qat = is_per_channel, is_qat

    set_quant_params = setup_quant_params
    """The name in ExecuTorch's page."""

    def add_custom_quant_annotations(self, custom_quant_annotations: Sequence[Callable[[GraphModule], Any]]) -> None:
        """Sets functions that annotate the model after the others."""
        self.custom_quant_annotations = custom_quant_annotations

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the graph."""
        annotate(model.graph, get_quant_config(self._precision, self._is_per_channel, self._is_qat))
        for function in self.custom_quant_annotations:
            function(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """Every graph that `annotate` makes is valid."""
