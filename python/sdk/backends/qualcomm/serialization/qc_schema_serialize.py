# SPDX-License-Identifier: BSD-3-Clause
"""Options as a flatbuffer, with the same bytes as ExecuTorch's."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from sdk.backends.qualcomm.serialization import qc_schema as s
from sdk.backends.qualcomm.serialization.flatc_writer import write
from sdk.exir._serialize._flatbuffer import BOOL, INT, STRING, UINT, Enum, Table, Vector
from sdk.exir._serialize._flatbuffer_io import FlatbufferError, Reader


def _enum(kind: type[IntEnum]) -> Enum:
    return Enum(kind, "i")


_FLAGS = dict.fromkeys(
    ("use_conv_hmx", "use_dlbc", "use_fold_relu", "use_multi_contexts", "use_weight_sharing", "use_slc_allocator"), BOOL
)

_SOC = Table(
    s.SocInfo,
    soc_model=_enum(s.QcomChipset),
    htp_info=Table(s.HtpInfo, htp_arch=_enum(s.HtpArch), vtcm_size_in_mb=UINT),
    lpai_info=Table(s.LpaiInfo, lpai_hardware_version=_enum(s.LpaiHardwareVersion)),
)

_BACKEND = Table(
    s.QnnExecuTorchBackendOptions,
    backend_type=_enum(s.QnnExecuTorchBackendType),
    htp_options=Table(
        s.QnnExecuTorchHtpBackendOptions,
        max_sf_buf_size=INT,
        performance_mode=_enum(s.QnnExecuTorchHtpPerformanceMode),
        precision=_enum(s.QnnExecuTorchHtpPrecision),
        pd_session=_enum(s.QnnExecuTorchHtpPdSession),
        **_FLAGS,
    ),
    gpu_options=Table(
        s.QnnExecuTorchGpuBackendOptions,
        performance_mode=_enum(s.QnnExecuTorchGpuPerformanceMode),
        precision=_enum(s.QnnExecuTorchGpuPrecision),
        use_memory_optimizations=BOOL,
        use_node_optimizations=BOOL,
        use_queue_recording=BOOL,
        use_weight_sharing=BOOL,
    ),
    lpai_options=Table(
        s.QnnExecuTorchLpaiBackendOptions,
        fps=INT,
        ftrt_ratio=INT,
        client_perf_type=_enum(s.QnnExecuTorchLpaiClientPerf),
        affinity=_enum(s.QnnExecuTorchLpaiCoreAffinity),
        core_selection=UINT,
        target_env=_enum(s.QnnExecuTorchLpaiTargetEnv),
    ),
)

_PACKAGE = Table(
    s.QnnExecuTorchOpPackageInfo,
    op_package_name=STRING,
    op_package_path=STRING,
    interface_provider=STRING,
    target=_enum(s.QnnExecuTorchOpPackageTarget),
    custom_op_name=STRING,
    qnn_op_type_name=STRING,
    platform=_enum(s.QnnExecuTorchOpPackagePlatform),
)

OPTIONS: Final = Table(
    s.QnnExecuTorchOptions,
    soc_info=_SOC,
    backend_options=_BACKEND,
    library_path=STRING,
    log_level=_enum(s.QnnExecuTorchLogLevel),
    online_prepare=BOOL,
    dump_intermediate_outputs=BOOL,
    profile_level=_enum(s.QnnExecuTorchProfileLevel),
    shared_buffer=BOOL,
    is_from_context_binary=BOOL,
    saver=BOOL,
    saver_output_dir=STRING,
    op_package_options=Table(s.QnnExecuTorchOpPackageOptions, op_package_infos=Vector(_PACKAGE)),
    use_mha2sha=BOOL,
)
"""The flatbuffer."""


def option_to_flatbuffer(qnn_executorch_options: s.QnnExecuTorchOptions) -> bytes:
    """The bytes that ExecuTorch's function of this name returns. Raises FlatbufferError for a value that does not
    fit."""
    try:
        return write(OPTIONS, qnn_executorch_options)
    except (AttributeError, TypeError, ValueError, struct.error) as error:
        raise FlatbufferError(f"the options of Qualcomm cannot be written: {error}") from error


def flatbuffer_to_option(flatbuffers: bytes) -> s.QnnExecuTorchOptions:
    """Raises FlatbufferError for bytes that are not options."""
    found: s.QnnExecuTorchOptions = OPTIONS.read(Reader(flatbuffers), 0, "QnnExecuTorchOptions")
    missing = [name for name in ("soc_info", "backend_options", "op_package_options") if getattr(found, name) is None]
    if missing or found.soc_info.htp_info is None:
        raise FlatbufferError(f"the options of Qualcomm lack {', '.join(missing or ['soc_info.htp_info'])}")
    return found
