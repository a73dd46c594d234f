# SPDX-License-Identifier: BSD-3-Clause
"""The settings of an export: ExecuTorch's names, defaults and checks, from YAML files and arguments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from sdk.extension.llm.export.config.llm_config import (
    BackendConfig,
    BaseConfig,
    CoreMLComputeUnit,
    CoreMLConfig,
    DtypeOverride,
    ExportConfig,
    LlmConfig,
    LoraConfig,
    ModelConfig,
    ModelType,
    OpenvinoConfig,
    Pt2eQuantize,
    QuantizationConfig,
    TorchAOKernelsConfig,
    VgfQuantizeScope,
    XNNPackConfig,
)
from sdk.extension.llm.export.settings import SettingsError, read_settings

YAML = """
base:
  model_class: llama3_2
  checkpoint: path/to/consolidated.00.pth
  params: path/to/params.json
  metadata: '{"get_bos_id":128000, "get_eos_ids":[128009, 128001]}'
model:
  use_kv_cache: True
  use_sdpa_with_kv_cache: True
quantization:
  embedding_quantize: 4,32
  qmode: 8da4w
backend:
  xnnpack:
    enabled: True
    extended_ops: True
debug:
  verbose: True
"""


def test_the_settings_of_the_documents_are_read(tmp_path: Path):
    """LE-03, LE-05, LE-17: the YAML file of the documents."""
    path = tmp_path / "config.yaml"
    path.write_text(YAML)
    config = read_settings(path)
    assert config.base == BaseConfig(
        model_class=ModelType.llama3_2,
        checkpoint="path/to/consolidated.00.pth",
        params="path/to/params.json",
        metadata='{"get_bos_id":128000, "get_eos_ids":[128009, 128001]}',
    )
    assert config.model == ModelConfig(use_kv_cache=True, use_sdpa_with_kv_cache=True)
    assert (config.quantization.embedding_quantize, config.quantization.qmode) == ("4,32", "8da4w")
    assert config.backend.xnnpack.enabled and config.backend.xnnpack.extended_ops and config.debug.verbose


def test_arguments_change_what_the_file_says(tmp_path: Path):
    """LE-02: if an argument occurs twice, the last one counts."""
    path = tmp_path / "config.yaml"
    path.write_text(YAML)
    arguments = ["+base.model_class=qwen3_0_6b", "export.max_seq_length=64", "model.use_kv_cache=false"]
    arguments += [
        """+base.metadata='{"get_bos_id":1}'""",
        "model.local_global_attention=[0,16]",
        "model.use_kv_cache=true",
    ]
    config = read_settings(path, arguments)
    assert config.base.model_class is ModelType.qwen3_0_6b
    assert config.base.checkpoint == "path/to/consolidated.00.pth"
    assert config.base.metadata == '{"get_bos_id":1}'
    assert (config.export.max_seq_length, config.export.max_context_length) == (64, 128)
    assert config.model.local_global_attention == [0, 16] and config.model.use_kv_cache
    for metadata in ('{"get_bos_id": 1, "get_eos_ids": [2]}', '{"x": "{}"}'):  # as a shell hands over a quoted text
        assert read_settings(None, [f"base.metadata={metadata}"]).base.metadata == metadata


def test_defaults():
    """LE-08: the defaults are those of the documents."""
    config = read_settings(None)
    assert config == LlmConfig()
    assert config.export == ExportConfig(128, 128, ".")
    assert config.base.model_class is ModelType.llama3 and config.model.enable_dynamic_shape
    assert not any(getattr(getattr(config.backend, name), "enabled", False) for name in vars(BackendConfig()))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["base.modelclass=llama3"],
            r"base.modelclass=llama3: Key 'modelclass' .* Did you mean: 'model_class'",
        ),
        (["base.model_class=llama9"], r"expected one of \[stories110m, .*setting base.model_class"),
        (
            ["export.max_seq_length=many"],
            "could not be converted to Integer; setting export.max_seq",
        ),
        (["model.use_kv_cache"], "'model.use_kv_cache' is not a setting; expected group.key=value"),
        (["export.max_seq_length=129"], "max_context_length of 128 cannot be shorter than max_seq_length of 129"),
        (["quantization.qmode=4da8w"], "Got qmode 4da8w, but expected one of"),
        (["quantization.embedding_quantize='3,32'"], "embedding_quantize of 3,32 must follow"),
        (["quantization.embedding_quantize='4'"], "embedding_quantize of 4 must follow"),
        (["model.quantize_kv_cache=true"], "quantize_kv_cache needs use_kv_cache"),
        (["model.local_global_attention=[16]"], "local_global_attention needs use_kv_cache"),
        (["model.use_attention_sink=4"], "structured like '<sink_size>,<window_size>', found '4'"),
        (["model.use_shared_embedding=true"], "Can only use shared embeddings with low-bit ops"),
        (["quantization.qmode=torchao:8da4w", "backend.xnnpack.enabled=true"], "Cannot use low-bit Ao ops"),
        (["backend.coreml.ios=14"], "Invalid coreml ios version: 14; expected 15, 16, 17 or 18"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments: list[str], message: str):
    """LE-13, LE-14: the error names the setting, what was found and what is expected."""
    with pytest.raises(SettingsError, match=message):
        read_settings(None, arguments)


def test_a_file_that_is_no_yaml_is_an_error(tmp_path: Path):
    path = tmp_path / "config.yaml"
    path.write_text("base: [")
    with pytest.raises(SettingsError, match=r"config.yaml: .*line 2"):
        read_settings(path)
    with pytest.raises(FileNotFoundError):
        read_settings(tmp_path / "missing.yaml")


@pytest.mark.parametrize("qmode", ["int8", "8da4w", "8da4w-gptq", "4w", "torchao:8da5w", "torchao:fpa4w"])
def test_modes_of_quantization(qmode: str):
    """The names of the documents."""
    assert QuantizationConfig(qmode=qmode).uses_low_bit_kernels == qmode.startswith("torchao:")


@pytest.mark.parametrize("text", ["2,32", "4,32", "8,0", "torchao:1,32", "torchao:8,64"])
def test_embeddings_may_have_these_bits(text: str):
    assert QuantizationConfig(embedding_quantize=text).embedding_quantize == text


def test_quantizers_and_systems_have_the_names_of_the_documents():
    assert Pt2eQuantize("vgf_16a8w").name == "vgf_16a8w"
    assert CoreMLConfig(ios=18).ios == 18


def test_arguments_become_settings() -> None:
    """Like ExecuTorch's `LlmConfig.from_args`: enums are read from their texts, one argument sets two settings, and
    others have defaults."""
    config = LlmConfig.from_args(
        argparse.Namespace(
            model="qwen3_0_6b",
            params="params.json",
            preq_mode=None,
            dtype_override="fp16",
            use_kv_cache=True,
            max_seq_length=64,
            quantization_mode="8da4w",
            group_size=64,
            pt2e_quantize=None,
            vgf_quantize_scope="linear",
            verbose=True,
            xnnpack=True,
            xnnpack_extended_ops=True,
            coreml_ios=18,
            coreml_compute_units="cpu_and_ne",
            use_torchao_kernels=True,
            adapter_checkpoint="a.pt",
            adapter_config="a.json",
        )
    )
    assert (config.base.model_class, config.base.params, config.base.preq_mode) == (
        ModelType.qwen3_0_6b,
        "params.json",
        None,
    )
    assert config.base.lora_config == LoraConfig("a.pt", "a.json")
    assert config.model.dtype_override is DtypeOverride.fp16 and config.model.use_kv_cache
    assert (config.export.max_seq_length, config.export.max_context_length) == (64, 128)
    assert (config.quantization.qmode, config.quantization.group_size) == ("8da4w", 64)
    assert config.backend.openvino == OpenvinoConfig(nncf_compression_group_size=64)
    assert config.quantization.quantize_scope is config.backend.vgf.quantize_scope is VgfQuantizeScope.linear
    assert config.backend.xnnpack == XNNPackConfig(True, True) and config.debug.verbose
    assert config.backend.coreml == CoreMLConfig(ios=18, compute_units=CoreMLComputeUnit.cpu_and_ne)
    assert config.backend.torchao == TorchAOKernelsConfig(True, True)
    assert LlmConfig.from_args(argparse.Namespace()) == LlmConfig()
    assert LlmConfig.from_args(argparse.Namespace(mlx=True)).model.use_kv_cache


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"adapter_checkpoint": "a.pt"}, "--adapter_checkpoint requires --adapter_config"),
        ({"model": "llama9"}, "'llama9' is not a valid ModelType"),
        ({"coreml_ios": 14}, "Invalid coreml ios version"),
        ({"quantize_kv_cache": True}, "quantize_kv_cache needs use_kv_cache"),
        ({"quantization_mode": "torchao:8da4w", "xnnpack": True}, "Cannot use low-bit Ao ops"),
    ],
)
def test_arguments_that_are_not_allowed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LlmConfig.from_args(argparse.Namespace(**arguments))
