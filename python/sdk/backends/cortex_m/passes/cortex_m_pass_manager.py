# SPDX-License-Identifier: BSD-3-Clause
"""`CortexMPassManager`: lowers a quantised program of the edge dialect to the operators `cortex_m::*`."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from torch.export import ExportedProgram
from torch.fx import GraphModule

from sdk.backends.cortex_m.passes.activation_fusion_pass import ActivationFusionPass
from sdk.backends.cortex_m.passes.aten_to_cortex_m_pass import AtenToCortexMPass
from sdk.backends.cortex_m.passes.decompose_mean_pass import DecomposeMeanPass
from sdk.backends.cortex_m.passes.fold_and_annotate_q_params_pass import FoldAndAnnotateQParamsPass
from sdk.backends.cortex_m.passes.matmul_to_bmm_pass import MatmulToBmmPass
from sdk.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass
from sdk.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
from sdk.backends.transforms.remove_getitem_op import RemoveGetItemPass
from sdk.exir.pass_base import ExportPass
from sdk.exir.pass_manager import PassManager, transform

PassClass = type[ExportPass]


class CortexMPassManager(PassManager):
    """The passes of this package.

    Args:
        exported_program: The program for `transform()`; None for a manager that only prepares models for annotation.
        passes: Classes of passes, by default `pass_list`. A class whose constructor has the parameters
            `exported_program` or `target_config` gets them.
        target_config: The processor; by default a Cortex-M55.
    """

    pass_list: ClassVar[list[PassClass]] = [
        RemoveGetItemPass,
        FoldAndAnnotateQParamsPass,
        ActivationFusionPass,
        AtenToCortexMPass,
        ReplaceQuantNodesPass,
    ]
    pass_list_transform_for_annotation: ClassVar[list[PassClass]] = [DecomposeMeanPass, MatmulToBmmPass]

    def __init__(
        self,
        exported_program: ExportedProgram | None,
        passes: list[PassClass] | None = None,
        target_config: CortexMTargetConfig | None = None,
    ) -> None:
        super().__init__(passes=[])
        self.exported_program = exported_program
        self.passes: list[Any] = list(self.pass_list if passes is None else passes)
        self.target_config = target_config or CortexMTargetConfig(CortexM.M55)

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Replaces operators by those that the quantizer annotates."""
        for kind in self.pass_list_transform_for_annotation:
            result = kind()(model)
            assert result is not None
            model = result.graph_module
        return model

    def transform(self) -> ExportedProgram:
        """The lowered program. Raises ValueError without a program, and for passes that are not classes."""
        program = self.exported_program
        if not isinstance(program, ExportedProgram):
            raise ValueError(f"CortexMPassManager.transform() needs a real ExportedProgram, got {program!r}")
        for kind in self.passes:
            if not isinstance(kind, type):
                raise ValueError(f"CortexMPassManager expects pass classes, not instances; got {kind!r}")
            available = {"exported_program": program, "target_config": self.target_config}
            taken = inspect.signature(kind).parameters
            program = transform(program, kind(**{name: available[name] for name in available if name in taken}))
        return program
