# SPDX-License-Identifier: BSD-3-Clause
"""The settings of backends and of quantising the captured graph: they reach the partitioners and the quantizers."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

import forked
from declared import default
from sdk.devtools.backend_debug import get_delegation_info
from sdk.extension.llm.export.backends import partitioners, refuse_unknown
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.export.exporter import capture, example_call, export_program, make_model
from sdk.extension.llm.export.settings import SettingsError, read_settings

PARAMS = {"dim": 64, "n_layers": 1, "n_heads": 2, "vocab_size": 32, "hidden_dim": 64}
CACHED = ["model.use_kv_cache=true", "export.max_seq_length=8", "export.max_context_length=16"]


@pytest.fixture
def model(tmp_path: Path) -> list[str]:
    (tmp_path / "params.json").write_text(json.dumps(PARAMS))
    return [f"base.params={tmp_path / 'params.json'}", *CACHED, f"export.output_dir={tmp_path}"]


def delegated(settings: list[str]) -> Any:
    _, _, program = export_program(read_settings(None, settings))
    assert program is not None
    return get_delegation_info(program.exported_program().graph_module)


def test_extended_ops_delegate_more(model: list[str]):
    """LE-16: without extended_ops, only linear layers of a model in 8da4w are delegated; with it, more operators."""
    name = default().name
    settings = [*model, "quantization.qmode=8da4w", f"backend.{name}.enabled=true"]
    few, more = delegated(settings), delegated([*settings, f"backend.{name}.extended_ops=true"])
    for found in (few, more):
        counts = found.delegation_by_operator["aten_linear_default"]
        assert (counts.delegated, counts.non_delegated) == (8, 0)
    assert more.num_delegated_nodes > few.num_delegated_nodes
    assert more.num_non_delegated_nodes < few.num_non_delegated_nodes


@pytest.mark.parametrize("kind", ["xnnpack_dynamic", "vulkan_8w", "openvino_8wo", "coreml_8a_c8w"])
def test_quantizers_of_backends_quantise_the_graph(kind: str, model: list[str], caplog: pytest.LogCaptureFixture):
    """LE-15: prepare and convert with the quantizer of the setting; the model computes with its integers."""
    if kind.startswith("coreml"):
        pytest.importorskip("coremltools")
        pytest.importorskip("sdk.backends.apple.coreml.quantizer")
    config = read_settings(None, [*model, f"quantization.pt2e_quantize={kind}"])
    torch.manual_seed(0)
    eager = make_model(config)
    caches = [name for name, _ in eager.named_buffers() if name.endswith("_cache")]
    with caplog.at_level(logging.INFO, "sdk.extension.llm.export"), torch.no_grad():
        captured = capture(eager, config)
    lines = [record.getMessage() for record in caplog.records]
    backend = {"xnnpack": "XNNPACK", "vulkan": "Vulkan", "openvino": "OpenVINO", "coreml": "CoreML"}[
        kind.partition("_")[0]
    ]
    assert f"prepare_pt2e with {backend}Quantizer" in lines and "calibrated with 1 calls" in lines
    tensors = [*captured.state_dict.values(), *captured.constants.values()]
    assert sum(isinstance(value, torch.Tensor) and value.dtype == torch.int8 for value in tensors) >= 8
    # Calibration has not changed the caches, and the generated text is close to that of the float model.
    assert len(caches) == 2 and not any(captured.state_dict[name].any() for name in caches)
    inputs, _ = example_call(eager)
    with torch.no_grad():
        found, expected = captured.module()(*inputs), eager(*inputs)
    assert not torch.equal(found, expected)
    assert (found - expected).norm() < 0.1 * expected.norm()


def test_calibration_uses_the_tokenizer(model: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture):
    letters = {"abcdefghijklmnopqrstuvwxyz -.,:?"[i]: i for i in range(32)}
    tokenizer = {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}}
    tokenizer |= {"model": {"type": "WordLevel", "vocab": letters, "unk_token": "?"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = ["quantization.pt2e_quantize=xnnpack_dynamic", "quantization.calibration_data='a text of 20 letters'"]
    config = read_settings(None, [*model, *settings, f"base.tokenizer_path={tmp_path / 'tokenizer.json'}"])
    with caplog.at_level(logging.INFO, "sdk.extension.llm.export"), torch.no_grad():
        capture(make_model(config), config)
    # 16 positions in calls of 8 tokens.
    assert "calibrated with 2 calls" in [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "settings, message",
    [
        (["backend.mlx.enabled=true"], "backend.mlx.enabled: There is no backend `mlx`; the known ones are: "),
        (["quantization.pt2e_quantize=tosa_8a8w"], "pt2e_quantize=tosa_8a8w: there is no backend tosa in this version"),
        (["quantization.pt2e_quantize=coreml_c4w"], "use backend.coreml.quantize=c4w"),
        (["backend.openvino.openvino_awq=true"], "not supported in this version: backend.openvino.openvino_awq"),
        (["quantization.pt2e_quantize=vulkan_8w", "quantization.qmode=8da4w"], "both quantise linear layers"),
    ],
)
def test_what_a_backend_lacks_is_said_before_the_model_is_read(settings: list[str], message: str, model: list[str]):
    """LE-15: the error for MLX, which this version lacks, and for options without an effect."""
    with pytest.raises(SettingsError, match=message):
        export(None, [*model, *settings])


def test_the_options_of_vulkan_reach_its_partitioner(model: list[str]):
    """VK-14: the flags of the tutorial as settings."""
    config = read_settings(None, [*model, "backend.vulkan.enabled=true", "backend.vulkan.force_fp16=true"])
    refuse_unknown(config)
    (partitioner,) = partitioners(config)
    assert partitioner.options == {"force_fp16": True}  # type: ignore[attr-defined]


def test_the_options_of_core_ml_reach_its_partitioner(model: list[str]):
    pytest.importorskip("coremltools")
    options = ["ios=18", "enable_state=true", "quantize=b4w", "compute_units=cpu_and_ne"]
    config = read_settings(None, [*model, *(f"backend.coreml.{option}" for option in ["enabled=true", *options])])
    (partitioner,) = partitioners(config)
    specs = {spec.key: spec.value for spec in partitioner.delegation_spec.compile_specs}  # type: ignore[attr-defined]
    weights = {"mode": "linear_symmetric", "dtype": "int4", "granularity": "per_block", "block_size": 32}
    assert json.loads(specs["op_linear_quantizer_config"]) == weights
    assert specs["compute_units"] == b"cpu_and_ne"
    config.backend.coreml.ios = 17
    with pytest.raises(SettingsError, match=r"enable_state needs backend.coreml.ios=18, found 17"):
        partitioners(config)


def test_profiles_of_memory_and_of_time(model: list[str], tmp_path: Path):
    """LE-19, LE-20: a trace of activations for Chrome, and a flame graph of the export's steps."""
    export(None, [*model, "debug.profile_memory=true", f"debug.profile_path={tmp_path / 'profile.html'}"])
    events = json.loads((tmp_path / "memory_profile.json").read_text())["traceEvents"]
    names = {event["name"] for event in events}
    assert any("embedding" in name for name in names) and any("mm" in name or "linear" in name for name in names)
    page = (tmp_path / "profile.html").read_text()
    assert page.startswith("<!doctype html>") and "<script src" not in page and "http" not in page
    for step in ("exporter.capture", "exporter.lower", "to_executorch"):
        assert step in page, step
    with pytest.raises(SettingsError, match=r"debug.profile_path: .*nowhere is not a folder"):
        export(None, [*model, f"debug.profile_path={tmp_path / 'nowhere' / 'profile.html'}"])


def test_without_the_tokenizers_the_error_says_what_to_install(model: list[str]):
    """LE-21: the tokenizers are a compiled module of the package; an export without a tokenizer does not need it."""
    hidden = "import sys; sys.modules['sdk.extension.llm.tokenizers._tokenizers'] = None\n"
    code = hidden + "from sdk.extension.llm.export.export_llm import export; export(None, sys.argv[1:])"
    assert forked.run("-c", code, *model).returncode == 0
    run = forked.run("-c", code, *model, "export.embed_tokenizer=true")
    assert run.returncode == 1
    assert "_tokenizers is not built for this Python. Install the package with `pip install .`" in run.stderr
