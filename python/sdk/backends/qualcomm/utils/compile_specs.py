# SPDX-License-Identifier: BSD-3-Clause
"""Makes compile specs."""

from __future__ import annotations

import warnings
from typing import Final

from sdk.backends.qualcomm.serialization import qc_schema as s
from sdk.backends.qualcomm.serialization.qc_schema_serialize import option_to_flatbuffer
from sdk.backends.qualcomm.utils.constants import QCOM_QNN_COMPILE_SPEC
from sdk.exir.backend.compile_spec_schema import CompileSpec

_CHIPS: Final = sorted((chip for chip in s.QcomChipset if chip), key=lambda chip: chip.name)


def get_soc_to_chipset_map() -> dict[str, s.QcomChipset]:
    """The chips by their names."""
    return {chip.name: chip for chip in _CHIPS}


def get_soc_to_htp_arch_map() -> dict[str, s.HtpArch]:
    """The generation of each chip's HTP."""
    return {chip.name: s.soc_info(chip).htp_info.htp_arch for chip in _CHIPS}


def get_soc_to_lpai_hw_ver_map() -> dict[str, s.LpaiHardwareVersion]:
    """The generation of the LPAI of the chips that have one."""
    found = {chip.name: s.soc_info(chip).lpai_info for chip in _CHIPS}
    return {name: lpai.lpai_hardware_version for name, lpai in found.items() if lpai is not None}


def generate_htp_compiler_spec(
    use_fp16: bool,
    use_dlbc: bool = False,
    use_multi_contexts: bool = False,
    use_weight_sharing: bool = False,
    use_slc_allocator: bool = False,
    htp_performance_mode: s.QnnExecuTorchHtpPerformanceMode = s.QnnExecuTorchHtpPerformanceMode.kHtpBurst,
) -> s.QnnExecuTorchBackendOptions:
    """The options of the HTP.

    Args:
        use_fp16: Floats are computed as float16. False for quantised models.
        use_dlbc: Inputs are compressed on their way to the HTP.
        use_multi_contexts: Several contexts of a program share one buffer for data that do not fit on the chip.
        use_weight_sharing: Methods share weights.
        use_slc_allocator: The system's cache is used, on chips that can do so.
        htp_performance_mode: How much power the HTP takes while the program runs.
    """
    options = s.QnnExecuTorchHtpBackendOptions(
        performance_mode=s.QnnExecuTorchHtpPerformanceMode(htp_performance_mode),
        precision=s.QnnExecuTorchHtpPrecision(int(use_fp16)),
        use_dlbc=use_dlbc,
        use_multi_contexts=use_multi_contexts,
        use_weight_sharing=use_weight_sharing,
        use_slc_allocator=use_slc_allocator,
    )
    return s.QnnExecuTorchBackendOptions(s.QnnExecuTorchBackendType.kHtpBackend, htp_options=options)


def generate_gpu_compiler_spec(
    precision: s.QnnExecuTorchGpuPrecision = s.QnnExecuTorchGpuPrecision.kGpuPrecisionUserProvided,
    use_memory_optimizations: bool = True,
    use_node_optimizations: bool = True,
    use_queue_recording: bool = True,
    use_weight_sharing: bool = False,
) -> s.QnnExecuTorchBackendOptions:
    """The options of the GPU.

    Args:
        precision: The precision in which it stores and computes floats.
        use_memory_optimizations: Intermediate results share memory.
        use_node_optimizations: Operators are fused.
        use_queue_recording: Commands are recorded once.
        use_weight_sharing: Methods share weights.
    """
    options = s.QnnExecuTorchGpuBackendOptions(
        precision=s.QnnExecuTorchGpuPrecision(precision),
        use_memory_optimizations=use_memory_optimizations,
        use_node_optimizations=use_node_optimizations,
        use_queue_recording=use_queue_recording,
        use_weight_sharing=use_weight_sharing,
    )
    return s.QnnExecuTorchBackendOptions(s.QnnExecuTorchBackendType.kGpuBackend, gpu_options=options)


def generate_lpai_compiler_spec(
    fps: int = 1,
    ftrt_ratio: int = 10,
    client_perf_type: s.QnnExecuTorchLpaiClientPerf = s.QnnExecuTorchLpaiClientPerf.kRealTime,
    affinity: s.QnnExecuTorchLpaiCoreAffinity = s.QnnExecuTorchLpaiCoreAffinity.kSoft,
    core_selection: int = 0,
    target_env: s.QnnExecuTorchLpaiTargetEnv = s.QnnExecuTorchLpaiTargetEnv.kArm,
) -> s.QnnExecuTorchBackendOptions:
    """The options of the LPAI, the low-power NPU.

    Args:
        fps: How often a result is needed, in Hz.
        ftrt_ratio: The clock, in tenths of the base clock.
        client_perf_type: Whether a missed deadline is an error.
        affinity: Whether the chosen cores are preferred or required.
        core_selection: A bit for each core; 0 for any.
        target_env: Where the program runs.
    """
    options = s.QnnExecuTorchLpaiBackendOptions(
        fps=fps,
        ftrt_ratio=ftrt_ratio,
        client_perf_type=s.QnnExecuTorchLpaiClientPerf(client_perf_type),
        affinity=s.QnnExecuTorchLpaiCoreAffinity(affinity),
        core_selection=core_selection,
        target_env=s.QnnExecuTorchLpaiTargetEnv(target_env),
    )
    return s.QnnExecuTorchBackendOptions(s.QnnExecuTorchBackendType.kLpaiBackend, lpai_options=options)


def generate_qnn_executorch_compiler_spec(
    soc_model: s.QcomChipset,
    backend_options: s.QnnExecuTorchBackendOptions,
    debug: bool = False,
    saver: bool = False,
    online_prepare: bool = False,
    dump_intermediate_outputs: bool = False,
    profile_level: int = 0,
    shared_buffer: bool = False,
    is_from_context_binary: bool = False,
    op_package_options: s.QnnExecuTorchOpPackageOptions | None = None,
    use_mha2sha: bool = False,
) -> list[CompileSpec]:
    """The compile specs of a chip and a processor.

    Args:
        soc_model: The chip.
        backend_options: From `generate_htp_compiler_spec`, `generate_gpu_compiler_spec` or
            `generate_lpai_compiler_spec`.
        debug: Qualcomm's library logs everything.
        saver: Qualcomm's library writes the calls that it gets, and compiles nothing.
        online_prepare: The graph is composed on the device.
        dump_intermediate_outputs: All intermediate results are outputs.
        profile_level: 2 measures operators, 3 writes a trace; 0 and 1 measure nothing.
        shared_buffer: Inputs and outputs are in memory that the processor shares.
        is_from_context_binary: The graph comes from a context binary.
        op_package_options: Libraries of custom operators.
        use_mha2sha: Attention is split into its heads.

    Raises ValueError for an unknown chip or level, and for options that exclude each other.
    """
    if soc_model not in list(_CHIPS):
        raise ValueError(f"unknown SoC model for QNN: {soc_model!r}; expected {', '.join(c.name for c in _CHIPS)}")
    chip, kind = s.QcomChipset(soc_model), backend_options.backend_type
    _check(chip, backend_options, online_prepare)
    if profile_level not in (0, 1, 2, 3):
        raise ValueError(f"profile_level is {profile_level}; expected 0, 2 (operators) or 3 (a trace)")
    if profile_level and dump_intermediate_outputs:
        warnings.warn("dump_intermediate_outputs slows down what profile_level measures", stacklevel=2)
    if profile_level == 1:
        warnings.warn("profile_level 1 measures nothing: use 2 or 3", DeprecationWarning, stacklevel=2)
    options = s.QnnExecuTorchOptions(
        s.soc_info(chip),
        s.QnnExecuTorchBackendOptions(
            kind, backend_options.htp_options, backend_options.gpu_options, backend_options.lpai_options
        ),
        library_path="libQnnSaver.so" if saver else "",
        log_level=s.QnnExecuTorchLogLevel.kLogLevelDebug if debug else s.QnnExecuTorchLogLevel.kLogLevelError,
        online_prepare=online_prepare,
        dump_intermediate_outputs=dump_intermediate_outputs,
        profile_level=s.QnnExecuTorchProfileLevel(profile_level if profile_level in (2, 3) else 0),
        shared_buffer=shared_buffer,
        is_from_context_binary=is_from_context_binary,
        saver=saver,
        op_package_options=op_package_options or s.QnnExecuTorchOpPackageOptions(),
        use_mha2sha=use_mha2sha,
    )
    return [CompileSpec(QCOM_QNN_COMPILE_SPEC, option_to_flatbuffer(options))]


def _check(chip: s.QcomChipset, options: s.QnnExecuTorchBackendOptions, online_prepare: bool) -> None:
    if options.backend_type == s.QnnExecuTorchBackendType.kLpaiBackend:
        with_lpai = get_soc_to_lpai_hw_ver_map()
        if online_prepare:
            raise ValueError("online_prepare is True, and the LPAI has no compiler on the device: leave it False")
        if chip.name not in with_lpai:
            raise ValueError(f"the chip {chip.name} has no LPAI; expected {' or '.join(with_lpai)}")
    htp = options.htp_options
    if online_prepare and htp is not None and htp.use_multi_contexts:
        raise ValueError("online_prepare and use_multi_contexts are True: choose one")
