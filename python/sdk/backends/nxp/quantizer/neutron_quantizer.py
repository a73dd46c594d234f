# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronQuantizer`.

quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"))
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule

from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.quantizer import qconfig
from sdk.backends.nxp.quantizer.annotator import ANNOTATORS, Scheme, annotate
from sdk.backends.nxp.quantizer.passes import prepared_for_annotation
from sdk.backends.quantizer.base import BackendQuantizer


class NeutronQuantizer(BackendQuantizer):
    """Annotates what Neutron computes: int8 activations with zero points, symmetric int8 weights.

    Args:
        neutron_target_spec: The target.
        is_qat: Whether the model is prepared for training, with `prepare_qat_pt2e`.
    """

    def __init__(self, neutron_target_spec: NeutronTargetSpec, is_qat: bool = False) -> None:
        super().__init__()
        self.neutron_target_spec = neutron_target_spec
        self.is_qat = is_qat

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Rewrites calls that Neutron has in another form: divisions by a constant become multiplications, splits
        become slices, and numbers become tensors."""
        super().transform_for_annotation(model)
        return prepared_for_annotation(model)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the graph."""
        annotate(model.graph, Scheme(qconfig.activation(self.is_qat), self.is_qat))
        return model

    def validate(self, model: GraphModule) -> None:
        """Every graph that `annotate` makes is valid."""

    @classmethod
    def get_supported_operators(cls) -> list[Any]:
        """The operators that are annotated."""
        return list(ANNOTATORS)
