# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.examples.models.llama.export_llama`: the flags are the settings of `export_llm`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sdk.examples.models.llama.export_llama import SWITCHES, VALUES, build_args_parser, main, settings_of
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.extension.llm.export.config.llm_config import LlmConfig, ModelType
from sdk.extension.llm.export.settings import read_settings

METADATA = '{"append_eos_to_prompt": 0, "get_bos_id":128000, "get_eos_ids":[128009, 128001]}'
TUTORIAL = [
    *("-d", "fp32", "--vulkan", "-qmode", "8da4w", "-G", "64", "--max_seq_length", "2048"),
    *("--max_context_length", "2048", "-kv", "--use_sdpa_with_kv_cache", "--metadata", METADATA, "--model", "llama3_2"),
]


def config_of(*flags: str) -> LlmConfig:
    return read_settings(None, settings_of(build_args_parser().parse_args(flags)))


def test_the_command_of_the_tutorial():
    """VK-14: the flags of the tutorial's command give these settings."""
    config = config_of("-c", "a.pth", "-p", "params.json", *TUTORIAL, "--output_name", "out.pte", "--vulkan-force-fp16")
    expected = LlmConfig()
    expected.base.checkpoint, expected.base.params = "a.pth", "params.json"
    expected.base.metadata, expected.base.model_class = METADATA, ModelType.llama3_2
    expected.model.use_kv_cache = expected.model.use_sdpa_with_kv_cache = True
    expected.export.max_seq_length = expected.export.max_context_length = 2048
    expected.export.output_name = "out.pte"
    expected.quantization.qmode, expected.quantization.group_size = "8da4w", 64
    expected.backend.vulkan.enabled = expected.backend.vulkan.force_fp16 = True
    assert config == expected


def test_every_flag_is_a_setting():
    """Flags may be spelled with `-` or `_`. A flag that is left out gives the setting's default."""
    assert config_of() == LlmConfig()
    for setting, flags in {**VALUES, **SWITCHES}.items():
        group, _, name = setting.partition(".")
        owner = getattr(LlmConfig(), group)
        for part in name.split("."):
            assert hasattr(owner, part), setting
            owner = getattr(owner, part)
        for flag in flags:
            if flag.startswith("--"):
                value = [] if setting in SWITCHES else ["1"]
                for spelled in (flag, "--" + flag[2:].replace("_", "-"), "--" + flag[2:].replace("-", "_")):
                    found = vars(build_args_parser().parse_args([spelled, *value]))
                    assert found[setting] == (value[0] if value else "true")
    config = config_of("-E", "8,0", "--use_attention_sink", "4,12", "-kv", "--disable_dynamic_shape")
    assert config.quantization.embedding_quantize == "8,0" and config.model.use_attention_sink == "4,12"
    assert not config.model.enable_dynamic_shape
    adapter = config_of("--adapter_checkpoint", "a.pt", "--adapter_config", "a.json").base.lora_config
    assert adapter is not None and (adapter.adapter_checkpoint, adapter.adapter_config) == ("a.pt", "a.json")


def test_a_program_of_the_tutorial(tmp_path: Path, capsys: pytest.CaptureFixture):
    """VK-14, VK-18: the tutorial's command with small weights; metadata become methods without inputs."""
    params = {"dim": 64, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "vocab_size": 32, "hidden_dim": 64}
    (tmp_path / "params.json").write_text(json.dumps(params))
    files = ["-p", str(tmp_path / "params.json"), "--output-dir", str(tmp_path), "--output_name", "out.pte"]
    assert main([*files, *TUTORIAL]) == 0
    assert capsys.readouterr().out.startswith(f"written: {tmp_path / 'out.pte'} (")
    program = deserialize_pte_binary((tmp_path / "out.pte").read_bytes()).program
    plans = {plan.name: plan for plan in program.execution_plan}
    assert [delegate.id for delegate in plans["forward"].delegates] and {
        delegate.id for delegate in plans["forward"].delegates
    } == {"VulkanBackend"}

    def values(name: str) -> list[int]:
        plan = plans[name]
        return [getattr(plan.values[output].val, "int_val", None) for output in plan.outputs]

    assert values("append_eos_to_prompt") == [0] and values("get_bos_id") == [128000]
    assert values("get_eos_ids") == [128009, 128001]
    assert values("get_max_seq_len") == [2048]


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture):
    assert main(["-p", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("error: ") and not list(tmp_path.iterdir())
    assert main(["-qmode", "8da3w"]) == 2
    assert "Got qmode 8da3w, but expected one of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--vulcan"])
    assert torch.is_grad_enabled()
