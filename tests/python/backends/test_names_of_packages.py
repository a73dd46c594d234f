# SPDX-License-Identifier: BSD-3-Clause
"""The public names of the backends' packages, which are imported when they are used."""

from __future__ import annotations

import importlib

import pytest

PACKAGES = {
    "sdk.backends.apple.mps": ["MPSBackend"],
    "sdk.backends.arm": [
        "EthosUCompileSpec",
        "EthosUQuantizer",
        "VgfBackend",
        "VgfCompileSpec",
        "VgfPartitioner",
        "VgfQuantizer",
        "get_symmetric_a16w8_quantization_config",
        "get_symmetric_quantization_config",
    ],
    "sdk.backends.openvino": ["OpenVINOQuantizer", "OpenvinoBackend", "OpenvinoPartitioner", "quantize_model"],
    "sdk.backends.vulkan": ["VulkanBackend", "VulkanPartitioner"],
    "sdk.backends.xnnpack": ["XnnpackBackend", "XnnpackDynamicallyQuantizedPartitioner", "XnnpackPartitioner"],
}


@pytest.mark.parametrize("package", PACKAGES)
def test_names(package: str) -> None:
    module = importlib.import_module(package)
    assert set(PACKAGES[package]) <= set(module.__all__)
    for name in PACKAGES[package]:
        value = getattr(module, name)
        assert value.__name__ == name and value is getattr(module, name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        _ = module.no_such_name
