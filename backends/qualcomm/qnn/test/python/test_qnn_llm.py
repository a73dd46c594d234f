# SPDX-License-Identifier: BSD-3-Clause
"""Language models: the settings of the backend, its quantizers, and caches whose keys and values have 8 bits."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from npu_models import snr

sys.path.insert(0, str(Path(__file__).resolve().parent))

from qnn_lowering import computed, lower, quantized, quantizer_of

from sdk.backends.qualcomm.partition.utils import options_of
from sdk.backends.qualcomm.quantizer import QuantDtype
from sdk.backends.qualcomm.quantizer import custom_annotation as annotations
from sdk.extension.llm.export.backends import partitioners, refuse_unknown
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.settings import SettingsError, read_settings

PARAMS = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 32, "hidden_dim": 96}
FIXED = ["model.use_kv_cache=true", "model.enable_dynamic_shape=false"]


class Attention(nn.Module):
    """Attention to keys and values of earlier calls, which are inputs, and to those of this call, which are outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values = (nn.Linear(16, 16) for _ in range(3))
        self.output = nn.Conv2d(16, 8, 1, bias=False)

    def forward(self, x: Tensor, past_keys: Tensor, past_values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, new_keys, new_values = (
            layer(x).view(1, -1, 2, 8).transpose(1, 2) for layer in (self.queries, self.keys, self.values)
        )
        keys, values = (torch.cat(pair, 2) for pair in ((past_keys, new_keys), (past_values, new_values)))
        scores = torch.matmul(queries, keys.transpose(2, 3)) / 8**0.5
        heads = torch.matmul(scores.softmax(-1), values).transpose(1, 2).reshape(1, 1, -1, 16)
        return self.output(heads.permute(0, 3, 1, 2)), new_keys, new_values


def _attention() -> tuple[nn.Module, tuple[Tensor, ...]]:
    torch.manual_seed(0)
    return Attention().eval(), (torch.randn(1, 2, 16), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8))


def _dtypes(graph: Any, target: Any) -> list[list[torch.dtype]]:
    """For each call, the dtypes of its operands with one scale before they are dequantised."""
    calls = [node for node in graph.graph.nodes if node.target == target]
    return [
        [source.args[5] for source in call.all_input_nodes if "dequantize_per_tensor" in str(source.target)]
        for call in calls
    ]


@pytest.fixture
def model(tmp_path: Path) -> list[str]:
    (tmp_path / "params.json").write_text(json.dumps(PARAMS))
    lengths = ["export.max_seq_length=8", "export.max_context_length=16"]
    return [f"base.params={tmp_path / 'params.json'}", f"export.output_dir={tmp_path}", *lengths, *FIXED]


def test_settings_reach_the_partitioner(model: list[str]) -> None:
    """LE-15: the partitioner gets the chip, and float16 for models that are not quantised."""
    for kind, precision in ((None, 1), ("qnn_8a8w", 0)):
        quantised = [] if kind is None else [f"quantization.pt2e_quantize={kind}"]
        config = read_settings(None, [*model, *quantised, "backend.qnn.enabled=true", "backend.qnn.soc_model=SM8750"])
        refuse_unknown(config)
        (partitioner,) = partitioners(config)
        options = options_of(partitioner.compiler_specs_snapshot)  # type: ignore[attr-defined]
        assert options.soc_info.soc_model.name == "SM8750"
        assert options.backend_options.htp_options is not None
        assert options.backend_options.htp_options.precision == precision


@pytest.mark.parametrize(
    "settings, message",
    [
        (["backend.qnn.soc_model=SM1"], "backend.qnn.soc_model is 'SM1'; expected one of QCM6490"),
        (["model.enable_dynamic_shape=true"], "programs have fixed shapes"),
        (["model.use_kv_cache=false"], "programs have fixed shapes"),
    ],
)
def test_settings_that_cannot_be_used(settings: list[str], message: str, model: list[str]) -> None:
    with pytest.raises(SettingsError, match=message):
        partitioners(read_settings(None, [*model, "backend.qnn.enabled=true", *settings]))


def test_settings_without_an_effect_are_refused(model: list[str]) -> None:
    for setting in ("use_sha=true", "num_sharding=2", "optimized_rotation_path=r.pt"):
        with pytest.raises(SettingsError, match=r"not supported in this version: backend\.qnn"):
            refuse_unknown(read_settings(None, [*model, "backend.qnn.enabled=true", f"backend.qnn.{setting}"]))


def test_arguments_of_export_llama_are_settings() -> None:
    given = argparse.Namespace(
        qnn=True, use_qnn_sha=True, soc_model="SM8550", num_sharding=2, optimized_rotation_path="r.pt"
    )
    settings: Any = LlmConfig.from_args(given).backend.qnn
    assert (settings.enabled, settings.use_sha, settings.soc_model) == (True, True, "SM8550")
    assert (settings.num_sharding, settings.optimized_rotation_path) == (2, "r.pt")
    assert LlmConfig.from_args(argparse.Namespace(soc_model=None)).backend.qnn.soc_model == "SM8650"


def test_caches_have_8_bits(tmp_path: Path) -> None:
    """LQ-05: activations have 16 bits, keys and values 8, inputs and outputs too, and the head 8-bit weights."""
    model, inputs = _attention()
    quantizer = quantizer_of(QuantDtype.use_16a4w)
    kinds = (annotations.annotate_kv_8bit, annotations.custom_annotate_llama_last_conv_16a8w)
    quantizer.add_custom_quant_annotations(kinds)
    graph = quantized(model, inputs, quantizer)
    aten, wide, narrow = torch.ops.aten, torch.int32, torch.uint8
    assert _dtypes(graph, aten.matmul.default) == [[wide, narrow]] * 2
    assert _dtypes(graph, aten.cat.default) == [[narrow, narrow]] * 2
    (head,) = [node for node in graph.graph.nodes if node.target == aten.conv2d.default]
    assert head.args[1].args[4:6] == (-127, 127) and _dtypes(graph, aten.conv2d.default) == [[wide]]
    manager = lower(graph, inputs)
    assert snr(model(*inputs)[0], computed(manager, inputs, tmp_path)) > 20


def test_the_second_operand_of_every_product_has_8_bits() -> None:
    model, inputs = _attention()
    quantizer = quantizer_of(QuantDtype.use_16a8w)
    quantizer.add_custom_quant_annotations((annotations.custom_annotate_matmul_16a8w,))
    graph = quantized(model, inputs, quantizer)
    assert _dtypes(graph, torch.ops.aten.matmul.default) == [[torch.int32, torch.uint8]] * 2
    assert _dtypes(graph, torch.ops.aten.cat.default) == [[torch.int32, torch.int32]] * 2
