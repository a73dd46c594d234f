# SPDX-License-Identifier: BSD-3-Clause
"""The settings of each backend. Names and defaults are ExecuTorch's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import List, Optional

# OmegaConf reads these annotations, and it takes `Optional[X]` and `List[X]` only.
# ruff: noqa: UP006, UP035, UP045


class QuantizeScope(str, Enum):
    """The operators that Arm's quantisers quantise: all that they support, or linear layers only."""

    full = "full"
    linear = "linear"


VgfQuantizeScope = QuantizeScope


class CoreMLQuantize(str, Enum):
    """4-bit weights of Core ML: in blocks, or for each channel."""

    b4w = "b4w"
    c4w = "c4w"


class CoreMLComputeUnit(str, Enum):
    """On which units Core ML may compute."""

    cpu_only = "cpu_only"
    cpu_and_gpu = "cpu_and_gpu"
    cpu_and_ne = "cpu_and_ne"
    all = "all"


@dataclass
class XNNPackConfig:
    """XNNPACK."""

    enabled: bool = False
    extended_ops: bool = False
    """Delegate all operators that XNNPACK has. Otherwise a model with dynamically quantised linear layers (8da4w) gives
    it these alone."""


@dataclass
class CoreMLConfig:
    """Core ML."""

    enabled: bool = False
    enable_state: bool = False
    preserve_sdpa: bool = False
    quantize: Optional[CoreMLQuantize] = None
    ios: int = 15
    compute_units: CoreMLComputeUnit = CoreMLComputeUnit.cpu_only

    def __post_init__(self) -> None:
        if self.ios not in (15, 16, 17, 18):
            raise ValueError(f"Invalid coreml ios version: {self.ios}; expected 15, 16, 17 or 18")


@dataclass
class VulkanConfig:
    """Vulkan."""

    enabled: bool = False
    force_fp16: bool = False


@dataclass
class QNNConfig:
    """Qualcomm's AI Engine Direct."""

    enabled: bool = False
    use_sha: bool = False
    soc_model: str = "SM8650"
    use_qnn_sha: bool = False
    optimized_rotation_path: Optional[str] = None
    num_sharding: int = 0


@dataclass
class MPSConfig:
    """Metal Performance Shaders."""

    enabled: bool = False


@dataclass
class OpenvinoConfig:
    """OpenVINO."""

    enabled: bool = False
    device: str = "CPU"
    nncf_compression_group_size: int = 32
    openvino_awq: bool = False
    openvino_scale_estimation: bool = False


@dataclass
class TorchAOKernelsConfig:
    """torchao's kernels for low-bit weights."""

    use_torchao_kernels_linear: bool = False
    use_torchao_kernels_tied_embedding: bool = False


@dataclass
class TosaConfig:
    """TOSA."""

    enabled: bool = False
    version: str = "TOSA-1.0+INT"


@dataclass
class EthosUConfig:
    """Arm Ethos-U."""

    enabled: bool = False
    target: str = "ethos-u85-128"
    memory_mode: str = "default"
    system_config: str = "default"
    extra_flags: List[str] = field(default_factory=list)


@dataclass
class VgfConfig:
    """Arm VGF."""

    enabled: bool = False
    compile_spec: Optional[str] = "TOSA-1.0+INT"
    compiler_flags: List[str] = field(default_factory=list)
    quantize_scope: QuantizeScope = QuantizeScope.full


@dataclass
class MLXConfig:
    """MLX."""

    enabled: bool = False


@dataclass
class BackendConfig:
    """The settings of each backend to which the model can be delegated."""

    xnnpack: XNNPackConfig = field(default_factory=XNNPackConfig)
    coreml: CoreMLConfig = field(default_factory=CoreMLConfig)
    vulkan: VulkanConfig = field(default_factory=VulkanConfig)
    qnn: QNNConfig = field(default_factory=QNNConfig)
    mps: MPSConfig = field(default_factory=MPSConfig)
    openvino: OpenvinoConfig = field(default_factory=OpenvinoConfig)
    torchao: TorchAOKernelsConfig = field(default_factory=TorchAOKernelsConfig)
    tosa: TosaConfig = field(default_factory=TosaConfig)
    ethosu: EthosUConfig = field(default_factory=EthosUConfig)
    vgf: VgfConfig = field(default_factory=VgfConfig)
    mlx: MLXConfig = field(default_factory=MLXConfig)
