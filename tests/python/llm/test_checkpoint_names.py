# SPDX-License-Identifier: BSD-3-Clause
"""Names of checkpoints, parts of the vocabulary and norms under ExecuTorch's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from safetensors.torch import save_file
from torch import nn

from sdk.examples.models import checkpoint
from sdk.examples.models.llama import convert_weights, hf_download, norm
from sdk.examples.models.llama.source_transformation.prune_vocab import prune_input_vocab, prune_output_vocab
from sdk.examples.models.llama.source_transformation.rms_norm import replace_rms_norm_with_native_rms_norm
from sdk.extension.llm.export.checkpoint import CheckpointError

TOKENS = torch.randint(0, 96, (1, 9), generator=torch.Generator().manual_seed(4))


def test_files_of_pytorch(tmp_path: Path, capsys: pytest.CaptureFixture):
    weights = {"a": torch.ones(2), "b": torch.zeros(3, dtype=torch.float16)}
    with pytest.raises(FileNotFoundError, match=r"expected pytorch_model\.bin"):
        checkpoint.load_checkpoint_from_pytorch_model(str(tmp_path))
    torch.save(weights, tmp_path / "pytorch_model.bin")
    read = checkpoint.load_checkpoint_from_pytorch_model(str(tmp_path))
    assert read.keys() == weights.keys() and torch.equal(read["a"], weights["a"])
    assert checkpoint.get_checkpoint_dtype(read) == torch.float32 and checkpoint.get_checkpoint_dtype({}) is None
    assert "b (torch.float16)" in capsys.readouterr().out
    for file, name in (("one.bin", "a"), ("two.bin", "b")):
        torch.save({name: weights[name] + 1, "unlisted": weights[name]}, tmp_path / file)
    index = {"weight_map": {"a": "one.bin", "b": "two.bin"}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    read = checkpoint.load_checkpoint_from_pytorch_model(str(tmp_path))
    assert read.keys() == weights.keys() and torch.equal(read["b"], weights["b"] + 1)
    folder = checkpoint.get_default_model_resource_dir(str(tmp_path / "model.py"))
    assert folder == tmp_path / "params"


def test_names_by_a_table():
    table = {"model.layers.{}.up": "layers.{}.w3", "model.norm": "norm"}
    assert checkpoint.get_mapped_key("model.layers.17.up", table) == "layers.17.w3"
    assert checkpoint.get_mapped_key("model.norm", table) == "norm"
    with pytest.raises(ValueError, match=r"model\.layers\.3\.down is not a name"):
        checkpoint.get_mapped_key("model.layers.3.down", table)


def test_adapters_keep_their_rows(tmp_path: Path):
    name = "base_model.model.model.layers.3.self_attn.q_proj.lora_{}.weight"
    weights = {name.format(side): torch.randn(8, 4) for side in "AB"}
    save_file(weights, tmp_path / "adapter.safetensors")
    found = convert_weights.load_and_convert_unsloth_to_meta(str(tmp_path / "adapter.safetensors"))
    assert found.keys() == {"layers.3.attention.wq.lora_a.weight", "layers.3.attention.wq.lora_b.weight"}
    assert torch.equal(found["layers.3.attention.wq.lora_b.weight"], weights[name.format("B")])
    with pytest.raises(CheckpointError, match="is not a weight of an adapter"):
        convert_weights.unsloth_to_meta({"layers.0.other": torch.ones(1)})


def test_downloads_are_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(hf_download, "downloaded", lambda name: tmp_path / "hub" / name)
    calls = []

    def convert(folder: str, file: str) -> None:
        calls.append(folder)
        if len(calls) == 1:
            raise OSError("disk full")
        Path(file).write_text("weights")

    with pytest.raises(OSError, match="disk full"):
        hf_download.download_and_convert_hf_checkpoint("org/name", convert)
    files = {hf_download.download_and_convert_hf_checkpoint("org/name", convert) for _ in range(2)}
    assert calls == [str(tmp_path / "hub" / "org/name")] * 2
    assert [Path(file).read_text() for file in files] == ["weights"] and files.pop().endswith("org_name.pth")


def test_parts_of_the_vocabulary():
    """Logits of kept tokens equal those of the whole model; the map gives the new ids."""
    model, pruned = small(), small()
    rows = {0: 5, 1: 90, 2: 7}
    assert prune_output_vocab(prune_input_vocab(pruned, rows), rows) is pruned
    ids = torch.tensor([[1, 0, 2, 2]])
    with torch.no_grad():
        expected = model(torch.tensor([[90, 5, 7, 7]]))[..., [5, 90, 7]]
        torch.testing.assert_close(pruned(ids), expected)
    biased = nn.ModuleDict({"head": nn.Linear(4, 6)})
    kept = biased["head"].bias[[3, 1]]
    assert torch.equal(prune_output_vocab(biased, {0: 3, 1: 1}, "head")["head"].bias, kept)
    for rows, name, why in (
        ({0: 96}, "output", "rows below 96"),
        ({1: 3}, "output", "rows"),
        ({0: 1}, "none", "Linear"),
    ):
        with pytest.raises(ValueError, match=why):
            prune_output_vocab(small(), rows, name)


def with_weights(made: Any) -> Any:
    with torch.no_grad():
        made.weight.copy_(torch.linspace(0.5, 1.5, made.weight.shape[0]))
    return made


def test_norms():
    x, gate = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    weight = torch.linspace(0.5, 1.5, 8)

    def normal(value: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
        return value / (value.square().mean(-1, keepdim=True) + eps).sqrt()

    with torch.no_grad():
        torch.testing.assert_close(with_weights(norm.RMSNormWithInputScale(8))(x), normal(weight * x, 1e-5))
        expected = normal(x) * weight * gate / (1 + (-gate).exp())
        torch.testing.assert_close(with_weights(norm.RMSNormGated(8))(x, gate), expected)
        torch.testing.assert_close(with_weights(norm.RMSNormCoreML(8))(x), normal(x) * weight)
        assert not norm.RMSNormCoreML(8)(torch.zeros(1, 8)).any()
    with pytest.raises(ValueError, match="eps=0"):
        norm.RMSNormCoreML(8, 0)
    with pytest.raises(ValueError, match="eps=0"):  # which is not the default
        norm.replace_rms_norm_for_coreml_(torch.nn.Sequential(torch.nn.RMSNorm(8, eps=0.0)))


@pytest.mark.parametrize("replace", [replace_rms_norm_with_native_rms_norm, norm.replace_rms_norm_for_coreml_])
@pytest.mark.parametrize("fields", [{}, {"rms_norm_add_unit_offset": True, "use_qk_norm": True}])
def test_norms_of_a_model_are_replaced(replace: Any, fields: dict[str, Any]):
    model, other = (small(**fields) for _ in range(2))
    for each in (model, other):
        for name, parameter in each.named_parameters():
            if "norm" in name:
                parameter.data += torch.linspace(-0.3, 0.3, parameter.shape[0])
    assert replace(other) is other and not any(isinstance(part, norm.RMSNorm) for part in other.modules())
    with torch.no_grad():
        torch.testing.assert_close(other(TOKENS), model(TOKENS), rtol=1e-3, atol=1e-4)
