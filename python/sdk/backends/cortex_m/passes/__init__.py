# SPDX-License-Identifier: BSD-3-Clause
"""The passes that lower a quantised program to the operators `cortex_m::*`."""

from sdk.backends.cortex_m.passes.activation_fusion_pass import ActivationFusionPass
from sdk.backends.cortex_m.passes.aten_to_cortex_m_pass import AtenToCortexMPass
from sdk.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from sdk.backends.cortex_m.passes.decompose_mean_pass import DecomposeMeanPass
from sdk.backends.cortex_m.passes.fold_and_annotate_q_params_pass import FoldAndAnnotateQParamsPass
from sdk.backends.cortex_m.passes.matmul_to_bmm_pass import MatmulToBmmPass
from sdk.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass

__all__ = [
    "ActivationFusionPass",
    "AtenToCortexMPass",
    "CortexMPassManager",
    "DecomposeMeanPass",
    "FoldAndAnnotateQParamsPass",
    "MatmulToBmmPass",
    "ReplaceQuantNodesPass",
]
