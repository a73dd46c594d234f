# SPDX-License-Identifier: BSD-3-Clause
"""The public functions for QNN: compile specs, and functions that lower a module."""

from __future__ import annotations

from sdk.backends.qualcomm.partition.utils import generate_qnn_executorch_option, get_skip_decomp_table
from sdk.backends.qualcomm.qnn.payload import ALIGNMENT
from sdk.backends.qualcomm.serialization.qc_schema import (
    HtpArch,
    LpaiHardwareVersion,
    QcomChipset,
    QnnExecuTorchBackendOptions,
    QnnExecuTorchBackendType,
    QnnExecuTorchGpuBackendOptions,
    QnnExecuTorchGpuPrecision,
    QnnExecuTorchHtpBackendOptions,
    QnnExecuTorchHtpPerformanceMode,
    QnnExecuTorchHtpPrecision,
    QnnExecuTorchLogLevel,
    QnnExecuTorchLpaiBackendOptions,
    QnnExecuTorchLpaiClientPerf,
    QnnExecuTorchLpaiCoreAffinity,
    QnnExecuTorchLpaiTargetEnv,
    QnnExecuTorchOpPackageOptions,
    QnnExecuTorchOptions,
    QnnExecuTorchProfileLevel,
)
from sdk.backends.qualcomm.serialization.qc_schema_serialize import flatbuffer_to_option, option_to_flatbuffer
from sdk.backends.qualcomm.utils.compile_specs import (
    generate_gpu_compiler_spec,
    generate_htp_compiler_spec,
    generate_lpai_compiler_spec,
    generate_qnn_executorch_compiler_spec,
    get_soc_to_chipset_map,
    get_soc_to_htp_arch_map,
    get_soc_to_lpai_hw_ver_map,
)
from sdk.backends.qualcomm.utils.lowering import (
    capture_program,
    convert_linear_to_conv2d,
    dump_context_from_pte,
    get_decomp_table,
    qnn_edge_config,
    to_edge_transform_and_lower_to_qnn,
)
from sdk.backends.qualcomm.utils.views import (
    DrawFormat,
    draw_graph,
    rewrite_prepared_observer,
    show_nn_module_stack_for_quant_recipe,
)

__all__ = [
    "DrawFormat",
    "HtpArch",
    "LpaiHardwareVersion",
    "QcomChipset",
    "QnnExecuTorchBackendOptions",
    "QnnExecuTorchBackendType",
    "QnnExecuTorchGpuBackendOptions",
    "QnnExecuTorchGpuPrecision",
    "QnnExecuTorchHtpBackendOptions",
    "QnnExecuTorchHtpPerformanceMode",
    "QnnExecuTorchHtpPrecision",
    "QnnExecuTorchLogLevel",
    "QnnExecuTorchLpaiBackendOptions",
    "QnnExecuTorchLpaiClientPerf",
    "QnnExecuTorchLpaiCoreAffinity",
    "QnnExecuTorchLpaiTargetEnv",
    "QnnExecuTorchOpPackageOptions",
    "QnnExecuTorchOptions",
    "QnnExecuTorchProfileLevel",
    "capture_program",
    "convert_linear_to_conv2d",
    "draw_graph",
    "dump_context_from_pte",
    "flatbuffer_to_option",
    "generate_gpu_compiler_spec",
    "generate_htp_compiler_spec",
    "generate_lpai_compiler_spec",
    "generate_qnn_executorch_compiler_spec",
    "generate_qnn_executorch_option",
    "get_decomp_table",
    "get_qnn_context_binary_alignment",
    "get_skip_decomp_table",
    "get_soc_to_chipset_map",
    "get_soc_to_htp_arch_map",
    "get_soc_to_lpai_hw_ver_map",
    "option_to_flatbuffer",
    "qnn_edge_config",
    "rewrite_prepared_observer",
    "show_nn_module_stack_for_quant_recipe",
    "to_edge_transform_and_lower_to_qnn",
]


def get_qnn_context_binary_alignment() -> int:
    """The offset of context binaries in payloads, in bytes."""
    return ALIGNMENT
