# SPDX-License-Identifier: BSD-3-Clause
"""The options of Qualcomm's compiler and runtime. The names, numbers and order of fields are those of ExecuTorch's
flatbuffer, which programs contain."""

# ruff: noqa: N815 - the enumerators have ExecuTorch's names

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, unique


@unique
class HtpArch(IntEnum):
    """The generations of the HTP, the NPU of Qualcomm's chips."""

    NONE = 0
    V68 = 68
    V69 = 69
    V73 = 73
    V75 = 75
    V79 = 79
    V81 = 81


@dataclass
class HtpInfo:
    """The HTP of a chip: its generation, and its vector memory (VTCM)."""

    htp_arch: HtpArch = HtpArch.NONE
    vtcm_size_in_mb: int = 0


@unique
class LpaiHardwareVersion(IntEnum):
    """The generations of the LPAI, the low-power NPU of some chips."""

    NONE = 0
    V6 = 6
    V7 = 7


@dataclass
class LpaiInfo:
    """The LPAI of a chip."""

    lpai_hardware_version: LpaiHardwareVersion = LpaiHardwareVersion.NONE


@unique
class QcomChipset(IntEnum):
    """The chips, by Qualcomm's numbers."""

    UNKNOWN_SM = 0
    SM8350 = 30
    SM8450 = 36
    SA8295 = 39
    SM8475 = 42
    SM8550 = 43
    SXR1230P = 45
    SSG2115P = 46
    SA8255 = 52
    SXR2230P = 53
    SM8650 = 57
    SSG2125P = 58
    SM8750 = 69
    SA8797 = 72
    SXR2330P = 75
    QCS9100 = 77
    SM8850 = 87
    QCM6490 = 93
    SAR2230P = 95
    SW6100 = 96
    SM8845 = 97


@dataclass
class SocInfo:
    """A chip with its NPUs."""

    soc_model: QcomChipset = QcomChipset.UNKNOWN_SM
    htp_info: HtpInfo = field(default_factory=HtpInfo)
    lpai_info: LpaiInfo | None = None


_HTPS = {
    "SA8255": (73, 8), "SA8295": (68, 8), "SA8797": (81, 16), "SAR2230P": (81, 4), "SM8350": (68, 4),
    "SM8450": (69, 8), "SM8475": (69, 8), "SM8550": (73, 8), "SM8650": (75, 8), "SM8750": (79, 8), "SM8845": (81, 8),
    "SM8850": (81, 8), "SSG2115P": (73, 2), "SSG2125P": (73, 2), "SW6100": (81, 4), "SXR1230P": (73, 2),
    "SXR2230P": (69, 8), "SXR2330P": (79, 8), "QCM6490": (68, 2), "QCS9100": (73, 8),
}  # fmt: skip
"""The generation of each chip's HTP, and its megabytes of vector memory."""

_LPAIS = {"SM8850": LpaiHardwareVersion.V6, "SAR2230P": LpaiHardwareVersion.V6}


def soc_info(chip: QcomChipset) -> SocInfo:
    """The properties of a chip. Raises ValueError for `UNKNOWN_SM`."""
    if chip.name not in _HTPS:
        raise ValueError(f"there is no chip {chip.name} of Qualcomm; expected one of {', '.join(sorted(_HTPS))}")
    generation, megabytes = _HTPS[chip.name]
    lpai = LpaiInfo(_LPAIS[chip.name]) if chip.name in _LPAIS else None
    return SocInfo(chip, HtpInfo(HtpArch(generation), megabytes), lpai)


@unique
class QnnExecuTorchGpuPerformanceMode(IntEnum):
    """How much power the GPU takes."""

    kGpuPerfHintHigh = 0
    kGpuPerfHintNormal = 1
    kGpuPerfHintLow = 2


@unique
class QnnExecuTorchGpuPrecision(IntEnum):
    """The precision of the GPU: hybrid stores float16 and computes float32."""

    kGpuPrecisionFp32 = 0
    kGpuPrecisionFp16 = 1
    kGpuPrecisionHybrid = 2
    kGpuPrecisionUserProvided = 3


@dataclass
class QnnExecuTorchGpuBackendOptions:
    """The options of the GPU."""

    performance_mode: QnnExecuTorchGpuPerformanceMode = QnnExecuTorchGpuPerformanceMode.kGpuPerfHintHigh
    precision: QnnExecuTorchGpuPrecision = QnnExecuTorchGpuPrecision.kGpuPrecisionUserProvided
    use_memory_optimizations: bool = True
    use_node_optimizations: bool = True
    use_queue_recording: bool = True
    use_weight_sharing: bool = False


@unique
class QnnExecuTorchHtpPerformanceMode(IntEnum):
    """How much power the HTP takes."""

    kHtpDefault = 0
    kHtpSustainedHighPerformance = 1
    kHtpBurst = 2
    kHtpHighPerformance = 3
    kHtpPowerSaver = 4
    kHtpLowPowerSaver = 5
    kHtpHighPowerSaver = 6
    kHtpLowBalanced = 7
    kHtpBalanced = 8


@unique
class QnnExecuTorchHtpPrecision(IntEnum):
    """The precision of the HTP for values that are not quantised."""

    kHtpQuantized = 0
    kHtpFp16 = 1


@unique
class QnnExecuTorchHtpPdSession(IntEnum):
    """The protection domain of the HTP."""

    kHtpUnsignedPd = 0
    kHtpSignedPd = 1


@unique
class QnnExecuTorchBackendType(IntEnum):
    """The processors."""

    kUndefinedBackend = 0
    kGpuBackend = 1
    kHtpBackend = 2
    kDspBackend = 3
    kLpaiBackend = 4

    def __str__(self) -> str:
        return self.name.removeprefix("k").removesuffix("Backend").lower()


@dataclass
class QnnExecuTorchHtpBackendOptions:
    """The options of the HTP."""

    max_sf_buf_size: int = 0
    performance_mode: QnnExecuTorchHtpPerformanceMode = QnnExecuTorchHtpPerformanceMode.kHtpDefault
    precision: QnnExecuTorchHtpPrecision = QnnExecuTorchHtpPrecision.kHtpQuantized
    pd_session: QnnExecuTorchHtpPdSession = QnnExecuTorchHtpPdSession.kHtpUnsignedPd
    use_conv_hmx: bool = True
    use_dlbc: bool = False
    use_fold_relu: bool = True
    use_multi_contexts: bool = False
    use_weight_sharing: bool = False
    use_slc_allocator: bool = False


@unique
class QnnExecuTorchLpaiClientPerf(IntEnum):
    """Whether a missed deadline is an error."""

    kUndefined = 0
    kRealTime = 1
    kNonRealTime = 2


@unique
class QnnExecuTorchLpaiCoreAffinity(IntEnum):
    """Whether the chosen cores are preferred or required."""

    kUndefined = 0
    kSoft = 1
    kHard = 2


@unique
class QnnExecuTorchLpaiTargetEnv(IntEnum):
    """Where the program runs."""

    kX86 = 0
    kArm = 1
    kAdsp = 2


@dataclass
class QnnExecuTorchLpaiBackendOptions:
    """The options of the LPAI."""

    fps: int = 1
    ftrt_ratio: int = 10
    client_perf_type: QnnExecuTorchLpaiClientPerf = QnnExecuTorchLpaiClientPerf.kRealTime
    affinity: QnnExecuTorchLpaiCoreAffinity = QnnExecuTorchLpaiCoreAffinity.kSoft
    core_selection: int = 0
    target_env: QnnExecuTorchLpaiTargetEnv = QnnExecuTorchLpaiTargetEnv.kArm


@unique
class QnnExecuTorchLogLevel(IntEnum):
    """The log level of the runtime and of Qualcomm's library."""

    kLogOff = 0
    kLogLevelError = 1
    kLogLevelWarn = 2
    kLogLevelInfo = 3
    kLogLevelVerbose = 4
    kLogLevelDebug = 5


@unique
class QnnExecuTorchProfileLevel(IntEnum):
    """The measurements while a program runs."""

    kProfileOff = 0
    kProfileBasic = 1
    kProfileDetailed = 2
    kProfileOptrace = 3


@dataclass
class QnnExecuTorchBackendOptions:
    """The processor and its options."""

    backend_type: QnnExecuTorchBackendType
    htp_options: QnnExecuTorchHtpBackendOptions | None = None
    gpu_options: QnnExecuTorchGpuBackendOptions | None = None
    lpai_options: QnnExecuTorchLpaiBackendOptions | None = None


@unique
class QnnExecuTorchOpPackageTarget(IntEnum):
    """The processor of a library of custom operators."""

    UNKNOWN = 0
    CPU = 1
    HTP = 2


@unique
class QnnExecuTorchOpPackagePlatform(IntEnum):
    """The system of a library of custom operators."""

    UNKNOWN = 0
    X86_64 = 1
    AARCH64_ANDROID = 2


@dataclass
class QnnExecuTorchOpPackageInfo:
    """A custom operator, and the library that has it."""

    op_package_name: str = ""
    op_package_path: str = ""
    interface_provider: str = ""
    target: QnnExecuTorchOpPackageTarget = QnnExecuTorchOpPackageTarget.UNKNOWN
    custom_op_name: str = ""
    qnn_op_type_name: str = ""
    platform: QnnExecuTorchOpPackagePlatform = QnnExecuTorchOpPackagePlatform.UNKNOWN


@dataclass
class QnnExecuTorchOpPackageOptions:
    """The custom operators."""

    op_package_infos: list[QnnExecuTorchOpPackageInfo] = field(default_factory=list)


@dataclass
class QnnExecuTorchOptions:
    """All options of a program."""

    soc_info: SocInfo
    backend_options: QnnExecuTorchBackendOptions
    library_path: str = ""
    log_level: QnnExecuTorchLogLevel = QnnExecuTorchLogLevel.kLogOff
    online_prepare: bool = False
    dump_intermediate_outputs: bool = False
    profile_level: QnnExecuTorchProfileLevel = QnnExecuTorchProfileLevel.kProfileOff
    shared_buffer: bool = False
    is_from_context_binary: bool = False
    saver: bool = False
    saver_output_dir: str = "saver_output"
    op_package_options: QnnExecuTorchOpPackageOptions = field(default_factory=QnnExecuTorchOpPackageOptions)
    use_mha2sha: bool = False
