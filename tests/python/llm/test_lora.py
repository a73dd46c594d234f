# SPDX-License-Identifier: BSD-3-Clause
"""A model with LoRA adapters computes the same as the model whose weights have the adapters added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from safetensors.torch import save_file
from test_checkpoints import write_gguf
from test_export_llm import CACHED, check
from torch import Tensor

from sdk.extension.llm.export.checkpoint import (
    CheckpointError,
    adapter_args,
    adapter_weights,
    read_adapter,
    set_weights,
)
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import Transformer, construct_transformer
from sdk.runtime import Runtime

RANK, ALPHA = 4, 6
LAYERS = {
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "mlp.down_proj": "feed_forward.w2",
}
LORA = {"r": RANK, "lora_alpha": ALPHA, "target_modules": ["q_proj", "k_proj", "down_proj"]}


def in_pairs(rows: Tensor, head_dim: int) -> Tensor:
    """Reorders the rows of each head for the other form of rotary embeddings: from Hugging Face's, which rotates row i
    with row i + head_dim / 2, to Meta's, which rotates row 2 i with row 2 i + 1."""
    order = [h + i for h in range(0, len(rows), head_dim) for j in range(head_dim // 2) for i in (j, j + head_dim // 2)]
    return rows[order]


def adapter(model: Transformer) -> dict[str, Tensor]:
    """Random adapters under PEFT's names."""
    found = {}
    for i, layer in enumerate(model.layers):
        for theirs, ours in LAYERS.items():
            rows, columns = layer.get_submodule(ours).weight.shape
            name = f"base_model.model.model.layers.{i}.{theirs}"
            found[f"{name}.lora_A.weight"] = torch.randn(RANK, columns) * 0.2
            found[f"{name}.lora_B.weight"] = torch.randn(rows, RANK) * 0.2
    return found


def merged(model: Transformer, weights: dict[str, Tensor]) -> Transformer:
    """The model with the adapters added to its weights."""
    for i, layer in enumerate(model.layers):
        for theirs, ours in LAYERS.items():
            a, b = (weights[f"base_model.model.model.layers.{i}.{theirs}.lora_{side}.weight"] for side in "AB")
            layer.get_submodule(ours).weight.data += ALPHA / RANK * (b @ a)
    return model


@pytest.mark.parametrize("halves", [True, False])
def test_adapters_are_added(halves: bool):
    whole = small(use_hf_rope=True)
    base = {name: value.clone() for name, value in whole.named_parameters()}
    if not halves:
        base |= {name: in_pairs(v, 16) for name, v in base.items() if "wq" in name or "wk" in name}
    torch.manual_seed(2)
    weights = adapter(whole)
    model = small(use_hf_rope=halves, **LORA)
    set_weights(model, {**base, **adapter_weights(weights.items(), model.params)})
    tokens = torch.randint(0, 96, (1, 12))
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), merged(whole, weights)(tokens), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_programs_with_adapters(suffix: str, tmp_path: Path):
    """Adapters are applied to a checkpoint in Meta's format, also if it is quantised; its weights stay quantised."""
    model = small(rope_theta=5e5)
    torch.manual_seed(2)
    weights = adapter(model)
    if suffix == "pt":
        torch.save(weights, tmp_path / "adapter.pt")
    else:
        save_file({name: value.contiguous() for name, value in weights.items()}, tmp_path / "adapter.safetensors")
    (tmp_path / "adapter_config.json").write_text(json.dumps(LORA))
    lora = [
        f"base.lora_config.adapter_checkpoint={tmp_path / f'adapter.{suffix}'}",
        f"base.lora_config.adapter_config={tmp_path / 'adapter_config.json'}",
    ]
    if suffix == "pt":
        torch.save(model.state_dict(), tmp_path / "model.pth")
        params = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
        (tmp_path / "params.json").write_text(json.dumps({**params, "rope_theta": 5e5}))
        files = [f"base.checkpoint={tmp_path / 'model.pth'}", f"base.params={tmp_path / 'params.json'}"]
        check(tmp_path, [*files, *lora, *CACHED])
    else:
        path = write_gguf(tmp_path / "model.gguf", model, "llama", "Q8_0")
        check(tmp_path, [f"base.checkpoint={path}", *lora, *CACHED], tolerance=1e-3)


def test_weights_and_adapters_in_files_of_their_own(tmp_path: Path):
    """ECO-04: programs with different adapters share the file of the model's weights."""
    model = small(rope_theta=5e5)
    torch.manual_seed(2)
    save_file({name: value.contiguous() for name, value in adapter(model).items()}, tmp_path / "a.safetensors")
    (tmp_path / "a.json").write_text(json.dumps(LORA))
    path = write_gguf(tmp_path / "model.gguf", model, "llama", "Q4_0")
    common = [f"base.checkpoint={path}", f"export.output_dir={tmp_path}", *CACHED]
    files = ["export.foundation_weights_file=base.ptd", "export.lora_weights_file=adapter.ptd"]
    lora = [
        f"base.lora_config.adapter_{kind}"
        for kind in (f"checkpoint={tmp_path}/a.safetensors", f"config={tmp_path}/a.json")
    ]
    call = [torch.tensor([[5, 17, 80]]), torch.tensor([0])]

    def run(*settings: str, data: list[str]) -> Tensor:
        written = export(None, [*common, *settings])
        program = Runtime.get().load_program(written, data_map=[tmp_path / name for name in data])
        return program.load_method("forward").execute(call)[0]

    whole = run(*lora, "export.output_name=whole", data=[])
    split = run(*lora, *files, "export.output_name=split", data=["base.ptd", "adapter.ptd"])
    assert torch.equal(whole, split)
    assert (tmp_path / "split.pte").stat().st_size < 0.5 * (tmp_path / "whole.pte").stat().st_size
    before = (tmp_path / "base.ptd").read_bytes()
    save_file({name: value.contiguous() for name, value in adapter(model).items()}, tmp_path / "a.safetensors")
    other = run(*lora, *files, "export.output_name=other", data=["base.ptd", "adapter.ptd"])
    assert (tmp_path / "base.ptd").read_bytes() == before
    assert not torch.allclose(other, whole)
    with pytest.raises(ValueError, match=r"files of weights are written beside the program"):
        run(*lora, "export.lora_weights_file=x/a.ptd", data=[])


def test_adapters_whose_values_do_not_fit(tmp_path: Path) -> None:
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"
    args = ModelArgs(head_dim=16)
    for value, message in (
        (torch.zeros(63, 4), r"q_proj.lora_B.weight: expected whole heads .* has head_dim 16, the matrix 63 rows"),
        (torch.zeros(64), r"q_proj.lora_B.weight: expected a matrix .* found torch.float32 of sizes \[64\]"),
        (torch.zeros(64, 4, dtype=torch.int8), r"q_proj.lora_B.weight: expected a matrix .* found torch.int8"),
    ):
        with pytest.raises(CheckpointError, match=message):
            adapter_weights([(name, value)], args)
    for content in (
        {name: 1.5},
        {name: [torch.zeros(1)]},
        {name: None},
        {1: torch.zeros(1)},
        {name: torch.zeros(1).expand(100_000, 100_000)},
        {name: torch.zeros(2, 2, device="meta")},
        [torch.zeros(1)],
        3,
    ):
        torch.save(content, tmp_path / "adapter_model.bin")
        with pytest.raises(CheckpointError, match=r"adapter_model.bin is not an adapter: expected tensors by"):
            read_adapter(tmp_path / "adapter_model.bin")


def test_adapters_that_do_not_fit(tmp_path: Path):
    model: Any = small(**LORA)
    with pytest.raises(CheckpointError, match=r"layers.0.x.weight is not a weight of an adapter, such as"):
        adapter_weights([("layers.0.x.weight", torch.zeros(1))], model.params)
    (tmp_path / "a.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"is not an adapter"):
        read_adapter(tmp_path / "a.safetensors")
    torch.save({}, tmp_path / "empty.pt")
    (tmp_path / "a.json").write_text('{"r": 4}')
    lora = [f"base.lora_config.adapter_checkpoint={tmp_path / 'empty.pt'}"]
    with pytest.raises(ValueError, match=r"base.lora_config needs adapter_config, or lora_rank"):
        export(None, lora)
    with pytest.raises(CheckpointError, match=r"a.json lacks 'lora_alpha'"):
        export(None, [*lora, f"base.lora_config.adapter_config={tmp_path / 'a.json'}"])


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"use_dora": True}, "a.json: use_dora is True, expected False: nothing else"),
        ({"rank_pattern": {"q_proj": 8}}, r"rank_pattern is \{'q_proj': 8\}, expected \{\} or None"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights is 'pissa', expected True or False or 'gaussian'"),
        ({"modules_to_save": ["lm_head"]}, r"modules_to_save is \['lm_head'\], expected None or \[\]"),
        ({"use_magic": 1}, "use_magic is 1, and this version does not know what that changes"),
        ({"target_modules": ["q_proj", "lm_head"]}, "target_modules: found lm_head, expected q_proj, k_proj"),
        ({"target_modules": "all-linear"}, "target_modules is 'all-linear', expected a list of str"),
        ({"r": 0}, "r is 0, expected a whole number from 1"),
    ],
)
def test_what_an_adapter_config_changes_without_our_knowledge_is_named(
    changes: dict[str, Any], message: str, tmp_path: Path
):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**LORA, **changes}))
    with pytest.raises(CheckpointError, match=message):
        adapter_args(path)


def test_rank_stabilised_adapters_are_scaled_by_the_root_of_the_rank(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**LORA, "use_rslora": True, "lora_dropout": 0.1, "peft_type": "LORA", "bias": "none"}))
    args = ModelArgs(dim=16, n_heads=2, **adapter_args(path))
    layer: Any = construct_transformer(args).layers[0].attention.wq
    assert layer.scale == pytest.approx(ALPHA / RANK**0.5)
