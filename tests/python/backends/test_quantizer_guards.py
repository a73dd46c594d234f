# SPDX-License-Identifier: BSD-3-Clause
"""A model that was captured with one batch size is quantised and exported with others, by the quantizer of each
backend."""

from __future__ import annotations

import importlib
import types

import pytest
import torch
from torch.export import Dim, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import sdk.backends

QUANTIZERS = {
    "apple.coreml.quantizer.coreml_quantizer": ("CoreMLQuantizer", lambda: [_floats_of_coremltools()]),
    "arm.quantizer.arm_quantizer": ("TOSAQuantizer", lambda: ["TOSA-1.0+INT"]),
    "cadence.aot.quantizer.quantizer": ("CadenceDefaultQuantizer", list),
    "cortex_m.quantizer.quantizer": ("CortexMQuantizer", list),
    "mediatek.quantizer.quantizer": ("NeuropilotQuantizer", list),
    "nxp.quantizer.neutron_quantizer": ("NeutronQuantizer", lambda: [_neutron_target()]),
    "openvino.quantizer.quantizer": ("OpenVINOQuantizer", list),
    "qualcomm.quantizer.quantizer": ("QnnQuantizer", list),
    "samsung.quantizer.quantizer": ("EnnQuantizer", list),
    "vulkan.quantizer.vulkan_quantizer": ("VulkanQuantizer", list),
    "xnnpack.quantizer.xnnpack_quantizer": ("XNNPACKQuantizer", list),
}


def _floats_of_coremltools():
    return types.SimpleNamespace(global_config=None, module_type_configs={}, module_name_configs={})


def _neutron_target():
    return importlib.import_module("sdk.backends.nxp.backend.neutron_target_spec").NeutronTargetSpec("imxrt700")


@pytest.mark.parametrize("module", QUANTIZERS)
def test_quantised_models_are_exported_with_other_batch_sizes(module):
    name, arguments = QUANTIZERS[module]
    quantizer = getattr(pytest.importorskip(f"{sdk.backends.__name__}.{module}"), name)(*arguments())
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    captured = export(model, (torch.ones(2, 4),), strict=True).module()
    assert captured.graph.find_nodes(op="call_module", target="_guards_fn")
    prepared = prepare_pt2e(captured, quantizer)
    prepared(torch.ones(2, 4))
    shapes = ({0: Dim("batch", min=1, max=8)},)
    program = export(convert_pt2e(prepared), (torch.ones(2, 4),), dynamic_shapes=shapes)
    assert program.module()(torch.ones(5, 4)).shape == (5, 3)
