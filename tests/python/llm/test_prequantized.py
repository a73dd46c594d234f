# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints that are quantised already, and SpinQuant's rotation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from test_quantized_programs import check

from sdk.extension.llm.custom_ops._hadamard import transform
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.settings import SettingsError, read_settings

PARAMS = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}


def quantized(weight: torch.Tensor, bits: int, group: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """int8 integers, their scales [rows, groups], and the numbers that both mean."""
    most = (1 << (bits - 1)) - 1
    parts = weight.unflatten(1, (-1, group))
    scales = parts.abs().amax(2) / most
    q = (parts / scales[..., None]).round().to(torch.int8)
    return q.flatten(1), scales, (q * scales[..., None]).flatten(1)


def checkpoint(folder: Path, mode: str) -> tuple[list[str], torch.nn.Module]:
    """The arguments for a checkpoint, and a model with the dequantised weights and float activations."""
    model = small()
    weights: dict[str, torch.Tensor] = {}
    for name, value in model.state_dict().items():
        if value.dim() != 2:
            weights[name] = value
            continue
        whole = name == "tok_embeddings.weight" or (name == "output.weight" and mode.endswith("8da8w"))
        bits, group = (8, value.shape[1]) if whole else (4, 32)
        q, scales, value[:] = quantized(value.clone(), bits, group)
        weights[name] = q
        weights[f"{name.removesuffix('weight')}scales"] = scales[:, 0] if whole else scales
    torch.save(weights, folder / "consolidated.00.pth")
    (folder / "params.json").write_text(json.dumps(PARAMS))
    files = [f"base.checkpoint={folder / 'consolidated.00.pth'}", f"base.params={folder / 'params.json'}"]
    return [*files, f"base.preq_mode={mode}", "base.preq_embedding_quantize='8,0'"], model


@pytest.mark.parametrize("mode", ["8da4w", "8da4w_output_8da8w"])
def test_prequantized_weights_stay_as_they_are(mode: str, tmp_path: Path) -> None:
    """The program has the same integers: only int8 activations differ from the dequantised model."""
    arguments, model = checkpoint(tmp_path, mode)
    check(arguments, "torchao::_linear_8bit_act_4bit_weight")
    tokens = torch.randint(0, 96, (1, 30), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = model(tokens)
        lengths = ["debug.generate_full_logits=true", "export.max_seq_length=40", "export.max_context_length=40"]
        found = make_model(read_settings(None, [*arguments, *lengths]))(tokens)
    assert float((found - expected).abs().max()) < 0.05 * float(expected.abs().max())


def test_spin_quant_rotates_what_down_projections_multiply(tmp_path: Path) -> None:
    """LE-23: weights rotated by the inverse, which is the same transform, give the results without rotations."""
    model = small()
    (tmp_path / "params.json").write_text(json.dumps(PARAMS))
    weights = dict(model.state_dict())
    for layer in range(2):
        name = f"layers.{layer}.feed_forward.w2.weight"
        weights[name] = transform(weights[name])
    torch.save(weights, tmp_path / "model.pth")
    settings = [f"base.params={tmp_path / 'params.json'}", f"base.checkpoint={tmp_path / 'model.pth'}"]
    check([*settings, "quantization.use_spin_quant=native"], "llama::fast_hadamard_transform")
    tokens = torch.randint(0, 96, (1, 30), generator=torch.Generator().manual_seed(1))
    lengths = ["debug.generate_full_logits=true", "export.max_seq_length=40", "export.max_context_length=40"]
    found = make_model(read_settings(None, [*settings, "quantization.use_spin_quant=native", *lengths]))
    with torch.no_grad():
        torch.testing.assert_close(found(tokens), model(tokens), rtol=1e-4, atol=1e-4)
    with pytest.raises(SettingsError, match="use_spin_quant=cuda is for programs on CUDA; use native"):
        make_model(read_settings(None, [*settings, "quantization.use_spin_quant=cuda"]))
    (tmp_path / "params.json").write_text(json.dumps({**PARAMS, "hidden_dim": 96}))
    with pytest.raises(SettingsError, match=r"blocks are 96 wide; expected 2\^k or 28 \* 2\^k"):
        make_model(read_settings(None, [settings[0], "quantization.use_spin_quant=native"]))


def test_the_sample_for_spin_quant(tmp_path: Path) -> None:
    """LE-22: the file's settings with a prequantised checkpoint whose down projections are rotated."""
    sample = "examples/models/llama/config/llama_xnnpack_spinquant.yaml"
    arguments, _ = checkpoint(tmp_path, "8da4w_output_8da8w")
    config = read_settings(sample, ["base.model_class=llama3_2", *arguments[:2]])
    assert config.base.preq_mode == "8da4w_output_8da8w" and config.backend.xnnpack.enabled
    assert config.quantization.use_spin_quant == "native" and config.model.use_sdpa_with_kv_cache
    from sdk.extension.llm.export.exporter import export_program

    _, _, program = export_program(config)
    assert program is not None
    names = {op.name for op in program.executorch_program.execution_plan[0].operators}
    assert "llama::fast_hadamard_transform" in names and not any("linear" in name for name in names)
    assert program.executorch_program.execution_plan[0].delegates


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({}, ["base.preq_mode=null"], "is quantised: set base.preq_mode to 8da4w or 8da4w_output_8da8w"),
        ({"output.scales": None}, [], "output.weight is quantised, but output.scales is missing"),
        ({}, ["base.preq_group_size=64"], r"expected a scale for 64 weights \(base.preq_group_size"),
        (
            {"layers.0.attention.wq.weight": 100},
            [],
            "layers.0.attention.wq.weight has integers from .* expected 4 bits",
        ),
        ({}, ["quantization.qmode=8da4w"], "the checkpoint is quantised already, and quantising again loses more"),
    ],
)
def test_what_does_not_fit_is_said(changes: dict[str, Any], settings: list[str], message: str, tmp_path: Path) -> None:
    arguments, _ = checkpoint(tmp_path, "8da4w")
    weights = torch.load(tmp_path / "consolidated.00.pth", weights_only=True)
    for name, value in changes.items():
        if value is None:
            del weights[name]
        else:
            weights[name][0, 0] = value
    torch.save(weights, tmp_path / "consolidated.00.pth")
    with pytest.raises((CheckpointError, SettingsError), match=message):
        make_model(read_settings(None, [*arguments, *settings]))
