# SPDX-License-Identifier: BSD-3-Clause
"""`LlmConfig`: all settings of an export, in groups. Names, defaults and checks are ExecuTorch's.

`sdk.extension.llm.export.export_llm` refuses settings that this version does not support.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, List, Optional

from sdk.backends import registry
from sdk.extension.llm.export.config.backend_config import (
    BackendConfig,
    MLXConfig,
    TorchAOKernelsConfig,
    TosaConfig,
    public_names,
)
from sdk.extension.llm.export.config.quantize_scope import QuantizeScope
from sdk.util.words import similar

# OmegaConf reads these annotations, and it takes `Optional[X]` and `List[X]` only.
# ruff: noqa: UP006, UP035, UP045


__all__ = [
    "BackendConfig",
    "BaseConfig",
    "DebugConfig",
    "DtypeOverride",
    "ExportConfig",
    "LlmConfig",
    "LoraConfig",
    "MLXConfig",
    "MethodConfig",
    "ModelConfig",
    "ModelType",
    "MultimethodConfig",
    "PreqMode",
    "Pt2eQuantize",
    "QuantizationConfig",
    "QuantizeScope",
    "SpinQuant",
    "TorchAOKernelsConfig",
    "TosaConfig",
    *public_names(),
]


class ModelType(str, Enum):
    """Models that are exported by their name."""

    stories110m = "stories110m"
    llama2 = "llama2"
    llama3 = "llama3"
    llama3_1 = "llama3_1"
    llama3_2 = "llama3_2"
    llama3_2_vision = "llama3_2_vision"
    static_llama = "static_llama"
    qwen2_5_0_5b = "qwen2_5_0_5b"
    qwen2_5_1_5b = "qwen2_5_1_5b"
    qwen2_5_coder_32b = "qwen2_5_coder_32b"
    qwen3_0_6b = "qwen3_0_6b"
    qwen3_1_7b = "qwen3_1_7b"
    qwen3_4b = "qwen3_4b"
    qwen3_5_0_8b = "qwen3_5_0_8b"
    qwen3_5_2b = "qwen3_5_2b"
    qwen3_5_4b = "qwen3_5_4b"
    phi_4_mini = "phi_4_mini"
    smollm2 = "smollm2"
    lfm2_350m = "lfm2_350m"
    lfm2_700m = "lfm2_700m"
    lfm2_1_2b = "lfm2_1_2b"
    lfm2_5_350m = "lfm2_5_350m"
    lfm2_5_1_2b = "lfm2_5_1_2b"


class PreqMode(str, Enum):
    """How the weights of an old prequantised checkpoint are stored."""

    preq_8da4w = "8da4w"
    preq_8da4w_out_8da8w = "8da4w_output_8da8w"


class DtypeOverride(str, Enum):
    """The dtype of the model's floats."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"


_QUANTIZERS_OF_OTHERS = ("tosa_8a8w",)
"""Quantizers of backends that only ExecuTorch has."""


def _quantizers() -> list[str]:
    """The names of the quantizers of all backends."""
    parts = [backend.language_models for backend in registry.backends().values()]
    return [*(name for part in parts if part is not None for name in part.quantizers), *_QUANTIZERS_OF_OTHERS]


class Pt2eQuantize(str, Enum):
    """Quantisation of the exported graph, by the quantiser of a backend."""

    _ignore_ = "each"
    for each in _quantizers():
        vars()[each] = each


class SpinQuant(str, Enum):
    """The place where the rotations of SpinQuant (Liu et al., 2024) are computed."""

    cuda = "cuda"
    native = "native"


@dataclass
class LoraConfig:
    """An adapter: from `adapter_config`, a JSON file, or from rank, alpha and the names of the layers."""

    adapter_checkpoint: str
    adapter_config: Optional[str] = None
    lora_rank: int = 0
    lora_alpha: int = 0
    target_modules: List[str] = field(default_factory=list)
    adapter_quant: Optional[str] = None
    """int8, fp16 or fp32; None means fp32, the only one that this version supports."""


@dataclass
class BaseConfig:
    """The model and its weights."""

    model_class: ModelType = ModelType.llama3
    params: Optional[str] = None
    """A JSON file with fields of `ModelArgs`. It is not needed for a checkpoint that has them."""
    checkpoint: Optional[str] = None
    """A GGUF file, a folder of Hugging Face's form, or a .pth file. Random weights when None."""
    lora_config: Optional[LoraConfig] = None
    tokenizer_path: Optional[str] = None
    metadata: Optional[str] = None
    """JSON: methods without inputs by their name, such as {"get_bos_id": 128000, "get_eos_ids": [128009, 128001]}."""
    use_lora: int = 0
    """Rank of the adapters of quantisation-aware training; 0 for none."""
    preq_mode: Optional[PreqMode] = None
    preq_group_size: int = 32
    preq_embedding_quantize: str = "8,0"


@dataclass
class ModelConfig:
    """Changes of the model before it is exported."""

    dtype_override: DtypeOverride = DtypeOverride.fp32
    enable_dynamic_shape: bool = True
    """A call may have any number of tokens up to `export.max_seq_length`."""
    use_shared_embedding: bool = False
    """The embedding and the output layer use one weight. Only with quantization.qmode=torchao:..."""
    use_sdpa_with_kv_cache: bool = False
    """Attention by the operator `llama::custom_sdpa`."""
    expand_rope_table: bool = False
    use_attention_sink: Optional[str] = None
    """"<sinks>,<window>": keep that many first and that many last tokens, so that generation can continue forever."""
    output_prune_map: Optional[str] = None
    """A JSON file that maps the id of a token in the pruned vocabulary to its id in the whole one."""
    input_prune_map: Optional[str] = None
    use_kv_cache: bool = False
    quantize_kv_cache: bool = False
    """Store keys and values in int8, with a scale for each token."""
    local_global_attention: Optional[List[int]] = None
    """The number of positions that each layer sees, repeated over the layers; 0 means all."""

    def __post_init__(self) -> None:
        if self.use_attention_sink and len(self.use_attention_sink.split(",")) != 2:
            raise ValueError(
                "The value of use_attention_sink must be structured like '<sink_size>,<window_size>', "
                f"found {self.use_attention_sink!r}"
            )
        if self.quantize_kv_cache and not self.use_kv_cache:
            raise ValueError("quantize_kv_cache needs use_kv_cache: there is no cache to quantize")
        if self.local_global_attention and not self.use_kv_cache:
            raise ValueError("local_global_attention needs use_kv_cache")


@dataclass
class ExportConfig:
    """The program and its files."""

    max_seq_length: int = 128
    """The largest number of tokens in a call."""
    max_context_length: int = 128
    """The number of positions that the cache holds."""
    output_dir: str = "."
    output_name: Optional[str] = None
    so_library: Optional[str] = None
    """A shared library with operators, loaded before the export."""
    export_only: bool = False
    """End after `torch.export`, and write a .pt2 file."""
    foundation_weights_file: Optional[str] = None
    """A .ptd file for the model's weights."""
    lora_weights_file: Optional[str] = None
    """A .ptd file for the adapters'."""
    embed_tokenizer: bool = False
    """Store the tokenizer and the chat template in the program: those of `base.tokenizer_path`, or of the checkpoint.
    The methods `get_bos_id` and `get_eos_ids` come from it, unless `base.metadata` has them. Not a field of
    ExecuTorch's."""

    def __post_init__(self) -> None:
        if self.max_context_length < self.max_seq_length:
            raise ValueError(
                f"max_context_length of {self.max_context_length} cannot be shorter than "
                f"max_seq_length of {self.max_seq_length}"
            )


@dataclass
class DebugConfig:
    """Settings for further files, and for the lines that the export prints."""

    profile_memory: bool = False
    """A Chrome trace of the memory plan."""
    profile_path: Optional[str] = None
    """An HTML page with the times of the exporter's own functions."""
    generate_etrecord: bool = False
    generate_full_logits: bool = False
    """Logits of all tokens of a call, not of the last one only."""
    verbose: bool = False
    """Print which operators were delegated."""


@dataclass
class MethodConfig:
    """One of the methods of a program with several methods."""

    method_name: str
    lora_config: Optional[LoraConfig] = None
    export_seq_len: Optional[int] = None
    """The number of tokens of the example input."""


@dataclass
class MultimethodConfig:
    """Several methods in one program."""

    methods: List[MethodConfig] = field(default_factory=list)
    share_mutable_buffers: bool = False
    """Whether buffers with the same name share memory in all methods."""

    @property
    def enabled(self) -> bool:
        """Whether `methods` names any."""
        return bool(self.methods)


_LOW_BIT_QMODES = [f"torchao:{kind}{bits}w" for kind in ("8da", "fpa") for bits in range(1, 9)]


def _bits_of(qmode: str | None) -> str:
    return re.sub(r"torchao:(8da|fpa)|w$", "", qmode or "")


def _nearest(found: str, names: List[str]) -> str:
    """A hint at the most similar name, empty without one."""
    meant = similar(found, names)
    return f" Found {found!r}: did you mean {meant!r}?" if meant else ""


@dataclass
class QuantizationConfig:
    """How the model is quantised."""

    QMODE_OPTIONS: ClassVar[List[str]] = ["int8", "8da4w", "8da4w-gptq", "4w"]
    AO_QUANT_PATTERNS: ClassVar[List[str]] = [r"torchao:8da(\d+)w", r"torchao:fpa(\d+)w"]

    qmode: Optional[str] = None
    """Scheme of linear layers: int8 (weights), 8da4w (8-bit activations, 4-bit weights in groups), 4w (4-bit weights in
    groups), or torchao:8da<bits>w and torchao:fpa<bits>w with 1 to 8 bits."""
    embedding_quantize: Optional[str] = None
    """"<bits>,<group size>": 2, 4 or 8 bits, or with "torchao:" before it 1 to 8; a group size of 0 for one scale a
    row."""
    pt2e_quantize: Optional[Pt2eQuantize] = None
    group_size: Optional[int] = None
    """Weights that share a scale; 32 when None. int8 has a scale for each row, and takes none."""
    use_spin_quant: Optional[SpinQuant] = None
    use_qat: bool = False
    quantize_scope: QuantizeScope = QuantizeScope.full
    calibration_tasks: Optional[List[str]] = None
    calibration_limit: Optional[int] = None
    calibration_seq_length: Optional[int] = None
    calibration_data: str = "Once upon a time"
    use_hqq: bool = True
    """Choose scales by half-quadratic optimisation."""

    def __post_init__(self) -> None:
        if self.qmode and self.qmode not in self.QMODE_OPTIONS and not self.uses_low_bit_kernels:
            raise ValueError(
                f"Got qmode {self.qmode}, but expected one of {self.QMODE_OPTIONS}, or one of the regex patterns "
                f"{self.AO_QUANT_PATTERNS}.{_nearest(self.qmode, [*self.QMODE_OPTIONS, *_LOW_BIT_QMODES])}"
            )
        if self.uses_low_bit_kernels and self.qmode not in _LOW_BIT_QMODES:
            raise ValueError(f"quantization.qmode={self.qmode}: expected 1 to 8 bits, found {_bits_of(self.qmode)}")
        if self.embedding_quantize is not None:
            embedding_bits_and_group(self.embedding_quantize)

    @property
    def uses_low_bit_kernels(self) -> bool:
        """Whether qmode is one of torchao's kernels for 1 to 8 bits."""
        return any(re.fullmatch(pattern, self.qmode or "") for pattern in self.AO_QUANT_PATTERNS)


def embedding_bits_and_group(text: str) -> tuple[int, int]:
    """The two numbers of `quantization.embedding_quantize`. Raises ValueError unless it is "<bits>,<group size>" or
    "torchao:<bits>,<group size>" with bits that this form allows."""
    kernels, _, numbers = text.rpartition(":")
    allowed = range(1, 9) if kernels == "torchao" else (2, 4, 8)
    match = re.fullmatch(r"(\d+),(\d+)", numbers)
    if kernels not in ("", "torchao") or match is None or int(match[1]) not in allowed:
        expected = '"<bitwidth>,<groupsize>" with 2, 4 or 8 bits, or "torchao:<bitwidth>,<groupsize>" with 1 to 8'
        raise ValueError(f"embedding_quantize of {text} must follow the following format: {expected}")
    return int(match[1]), int(match[2])


@dataclass
class LlmConfig:
    """All settings of an export."""

    base: BaseConfig = field(default_factory=BaseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    export: ExportConfig = field(default_factory=ExportConfig)
    debug: DebugConfig = field(default_factory=DebugConfig)
    multimethod: MultimethodConfig = field(default_factory=MultimethodConfig)
    quantization: QuantizationConfig = field(default_factory=QuantizationConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)

    @classmethod
    def from_args(cls, args: argparse.Namespace) -> LlmConfig:
        """Returns the settings of parsed arguments of ExecuTorch's `export_llama`."""
        from sdk.extension.llm.export.config.arguments import from_args

        return from_args(args)

    def __post_init__(self) -> None:
        low_bit = self.quantization.uses_low_bit_kernels
        for declared in registry.backends().values():
            part = declared.language_models
            if part is not None and part.check is not None and getattr(self.backend, declared.identifier).enabled:
                declared.imported(part.check, "language_models")(self)
        if self.model.use_shared_embedding and not low_bit:
            raise ValueError("Can only use shared embeddings with low-bit ops (with qmode=torchao:...).")


def __getattr__(name: str) -> Any:
    """The settings of a backend by the name of their class."""
    from sdk.extension.llm.export.config import backend_config

    return getattr(backend_config, name)
