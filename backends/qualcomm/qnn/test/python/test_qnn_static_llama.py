# SPDX-License-Identifier: BSD-3-Clause
"""Llama with fixed shapes (examples/qualcomm/oss_scripts/llama): its logits, and the program that the script writes."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

sys.path.insert(0, str(Path(__file__).resolve().parents[5]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from examples.qualcomm.oss_scripts.llama import SUPPORTED_LLM_MODELS, LLMModelConfig, register_llm_model
from examples.qualcomm.oss_scripts.llama.llama import follow, lowered, quantized, with_tokens
from examples.qualcomm.oss_scripts.llama.model.static_llama import LlamaModel, Shape
from qnn_lowering import quantizer_of

from npu_models import snr, written
from sdk.backends.npu.compiler import graphs_for
from sdk.backends.qualcomm._passes.seq_mse import SeqMSE
from sdk.backends.qualcomm.qnn.payload import binary_of
from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.quantizer import QuantDtype
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir.lowered_backend_module import get_lowered_submodules
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer
from sdk.extension.pybindings import portable_lib
from vendor_commands import run_script

SCRIPT = Path(__file__).resolve().parents[5] / "examples/qualcomm/oss_scripts/llama/llama.py"
PARAMS = {
    "dim": 32, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 260, "hidden_dim": 48,
    "rope_theta": 500000.0, "use_scaled_rope": True,
}  # fmt: skip
TOKENS = [72, 105, 3, 41, 5, 200]


def _checkpoint() -> tuple[ModelArgs, dict[str, Tensor], Tensor]:
    """Returns the hyperparameters, random weights, and the logits of TOKENS."""
    torch.manual_seed(0)
    args = ModelArgs(**PARAMS, max_seq_len=8, max_context_len=8, generate_full_logits=True)
    model = construct_transformer(args).eval()
    with torch.no_grad():
        return args, dict(model.state_dict()), model(torch.tensor([TOKENS]))


def _static(tokens: int = 1) -> tuple[LlamaModel, Tensor]:
    args, weights, expected = _checkpoint()
    model = LlamaModel(args, Shape(tokens, 8)).eval()
    model.load(weights)
    return model, expected


def test_it_computes_what_the_transformer_does() -> None:
    """LQ-01: calls with one token, and a call with four, give the logits of the transformer."""
    model, expected = _static()
    with torch.no_grad():
        torch.testing.assert_close(follow([(model, model)], TOKENS), expected)
        several, _ = _static(4)
        found = several(*several.inputs(TOKENS[:4], 0, several.empty()))[0]
        torch.testing.assert_close(found, expected[:, :4])
        torch.testing.assert_close(follow([(several, several), (model, model)], TOKENS), expected)


def test_it_runs_with_xnnpack() -> None:
    """LQ-01: a prefill of four tokens and calls with one token are methods of one program, which stores their weights
    once."""
    decode, expected = _static()
    models = {"kv_forward": decode, "prefill_forward": with_tokens(decode, 4)}

    def lower(names: list[str]) -> bytes:
        programs = {
            name: torch.export.export(models[name], models[name].inputs([0], 0, models[name].empty()), strict=True)
            for name in names
        }
        manager = to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()])
        data: bytes = manager.to_executorch().buffer
        return data

    data = lower(list(models))
    loaded = portable_lib._load_for_executorch_from_buffer(data)
    calls = [
        (lambda *given, name=name: loaded.run_method(name, given), models[name])
        for name in ("prefill_forward", "kv_forward")
    ]
    torch.testing.assert_close(follow(calls, TOKENS), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(follow(calls[1:], TOKENS), expected, rtol=1e-4, atol=1e-4)
    weights = sum(parameter.numel() * 4 for parameter in decode.parameters())
    assert len(data) - len(lower(["kv_forward"])) < weights / 2


def test_models_are_registered() -> None:
    """LQ-04: the model in the documents is registered with the documented attributes."""
    config = SUPPORTED_LLM_MODELS["llama3_2-3b_instruct"]
    assert isinstance(config, LLMModelConfig)
    documented = {
        "repo_id": None, "params_path": None, "convert_weights": None, "transform_weight": True,
        "instruct_model": False, "num_sharding": 4, "masked_softmax": False, "seq_mse_candidates": 0, "r1": False,
        "r2": False, "r3": False,
    }  # fmt: skip
    assert {name: getattr(config, name) for name in documented} == documented
    assert type(config).__name__ == "Llama3_2_3B_Instruct" and config.quant_recipe.__name__ == "Llama3_3BQuantRecipe"
    with pytest.raises(ValueError, match="is registered already, for Llama3_2_3B_Instruct"):
        register_llm_model("llama3_2-3b_instruct")(LLMModelConfig)


def test_the_quantised_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LQ-05: keys and values have 8 bits, the head 16-bit activations and 8-bit weights. Each shard is a delegate."""
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    model, expected = _static()
    (module,) = quantized(model, SUPPORTED_LLM_MODELS["llama3_2-3b_instruct"], [TOKENS])
    cats = [node for node in module.graph.nodes if node.target == torch.ops.aten.cat.default and node.args[1] == 2]
    assert len(cats) == 4 and all(each.args[5] == torch.uint8 for cat in cats for each in cat.args[0])
    (head,) = [node for node in module.graph.nodes if node.target == torch.ops.aten.conv2d.default]
    assert (head.args[0].args[5], head.args[1].args[4:6]) == (torch.int32, (-127, 127))
    one, two = (lowered({"forward": (module, model)}, "SM8650", shards) for shards in (1, 2))
    assert [len(get_lowered_submodules(each.exported_program().graph_module)) for each in (one, two)] == [1, 2]
    program = ReferenceProgram(written(two, tmp_path))
    found = follow([(lambda *given: program.run_method("forward", given), model)], TOKENS)
    assert snr(expected, found) > 15
    assert SUPPORTED_LLM_MODELS["llama3_2-3b_instruct"].quant_recipe.default_quant_dtype == QuantDtype.use_16a4w
    with pytest.raises(ValueError, match="num_sharding is 3; expected 1 to 2, the number of layers"):
        lowered({"forward": (module, model)}, "SM8650", 3)


def test_prefill_and_decode_share_their_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LQ-05: both methods have the same scales, so that one reads the caches that the other wrote. Each shard is one
    payload, with a graph for each method."""
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    decode, expected = _static()
    models = {"kv_forward": decode, "prefill_forward": with_tokens(decode, 4)}
    modules = quantized(
        decode, SUPPORTED_LLM_MODELS["llama3_2-3b_instruct"], [TOKENS], prefill=models["prefill_forward"]
    )
    methods = {name: (module, models[name]) for name, module in zip(models, modules, strict=True)}
    file = written(lowered(methods, "SM8650", 2), tmp_path)
    program = ReferenceProgram(file)
    calls = [
        (lambda *given, name=name: program.run_method(name, given), models[name])
        for name in ("prefill_forward", "kv_forward")
    ]
    found, token_by_token = follow(calls, TOKENS), follow(calls[1:], TOKENS)
    assert snr(expected, found) > 15
    assert snr(token_by_token, found) > 30  # the same integers, but for reductions whose order differs
    stored = deserialize_pte_binary(file.read_bytes()).program
    assert len(stored.backend_delegate_data) == 2
    payloads = [binary_of(each.data) for each in stored.backend_delegate_data]
    graphs = [graphs_for("QNN", payload) for payload in payloads]
    assert all(set(each) == set(models) for each in graphs)
    weights = [
        {value.data.numpy().tobytes() for value in each[name].values if value.data is not None and value.data.dim() > 1}
        for each in graphs
        for name in models
    ]
    assert weights[0] == weights[1] and weights[2] == weights[3]


class _Layers(torch.nn.Module):
    """Layers in which one weight of each row is far larger than the others, and has small inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.Linear(6, 5)
        with torch.no_grad():
            self.first.weight[:, 0, 0, 0] = 3.0
            self.second.weight[:, 0] = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).mean((2, 3)))


def test_scales_are_chosen_by_results() -> None:
    """LQ-08: with int4 weights, the chosen ranges give results nearer to the float model's, and some are smaller."""
    torch.manual_seed(0)
    model, x = _Layers().eval(), torch.randn(4, 4, 6, 6)
    x[:, 0] *= 1e-3
    quantizer = quantizer_of(QuantDtype.use_16a4w)
    prepared = [prepare_pt2e(torch.export.export(model, (x,), strict=True).module(), quantizer) for _ in range(2)]
    for each in prepared:
        each(x)
    assert SeqMSE(prepared[1], 1).choose([(x,)]) == 0
    assert SeqMSE(prepared[1], 20).choose([(x,), (x.flip(0),)]) >= 1
    plain, chosen = (snr(model(x), convert_pt2e(each)(x)) for each in prepared)
    assert chosen > plain + 3, (plain, chosen)
    with pytest.raises(ValueError, match="expected at least one candidate, found 0"):
        SeqMSE(prepared[0], 0)


def _prepared(model: torch.nn.Module, *inputs: Tensor) -> Any:
    captured = torch.export.export(model, inputs, strict=True).module()
    prepared = prepare_pt2e(captured, quantizer_of(QuantDtype.use_16a4w))
    prepared(*inputs)
    return prepared


def _ranges(prepared: Any) -> dict[str, Tensor]:
    return {
        name: value.clone() for name, value in prepared.state_dict().items() if name.endswith(("min_val", "max_val"))
    }


def test_scales_are_chosen_within_a_context() -> None:
    """LQ-08: the function is called as in the original; ranges of activations stay unchanged, also if observers average
    them."""
    torch.manual_seed(0)
    model, x = _Layers().eval(), torch.randn(4, 4, 6, 6)
    x[:, 0] *= 1e-3
    chosen, within = (_prepared(model, x) for _ in range(2))
    SeqMSE(chosen, 20).choose([(x,)])
    with SeqMSE(within, 20):
        within(x)
    expected, found = _ranges(chosen), _ranges(within)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    before = _ranges(chosen)
    SeqMSE(chosen, 1).choose([(100 * x,)])
    assert all(torch.equal(value, before[name]) for name, value in _ranges(chosen).items())


class _Shared(torch.nn.Module):
    """A layer that is called twice, the second time with inputs for which its large weights matter, and a convolution
    of an image without a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.image = torch.nn.Linear(6, 5, bias=False), torch.nn.Conv2d(2, 3, 1)
        with torch.no_grad():
            self.layer.weight[:, 0] = 2.0

    def forward(self, x: Tensor, y: Tensor, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.layer(x), self.layer(y), self.image(image)


def test_layers_that_share_a_weight_choose_together() -> None:
    """LQ-08: the range minimises the error of both calls, whatever their order. The image has no batch."""
    torch.manual_seed(0)
    x, y, image = torch.randn(8, 6), 10 * torch.randn(8, 6), torch.randn(2, 4, 4)
    x[:, 0] *= 1e-3
    model = _Shared().eval()
    found = []
    for inputs in ((x, y, image), (y, x, image)):
        prepared = _prepared(model, *inputs)
        SeqMSE(prepared, 20).choose([inputs])
        (observer,) = {
            prepared.get_submodule(node.args[1].target)
            for node in prepared.graph.nodes
            if node.target == torch.ops.aten.linear.default
        }
        found.append(observer.max_val)
    torch.testing.assert_close(*found)


def test_images_of_several_sizes_choose_scales() -> None:
    """LQ-08"""
    torch.manual_seed(0)
    x = torch.randn(4, 4, 6, 6)
    x[:, 0] *= 1e-3
    prepared = _prepared(_Layers().eval(), x)
    assert SeqMSE(prepared, 20).choose([(x,), (torch.nn.functional.pad(x, (1, 1, 1, 1)),)]) >= 1


@pytest.mark.parametrize(
    "name", ["repo_id", "params_path", "convert_weights", "instruct_model", "masked_softmax", "r1"]
)
def test_attributes_that_are_not_supported_are_refused(name: str) -> None:
    """LQ-04"""
    kind = type("Asked", (LLMModelConfig,), {name: "given"})
    with pytest.raises(ValueError, match=f"not supported by this script: {name} of Asked"):
        kind().refuse_unsupported()
    for config in SUPPORTED_LLM_MODELS.values():
        config.refuse_unsupported()


def test_checkpoints_whose_rotations_pair_halves() -> None:
    """LQ-04: without `transform_weight`, weights are used unchanged; other shapes are a ValueError."""
    model, expected = _static()
    args, weights, _ = _checkpoint()
    sorted_weights = {
        name: value[..., 0, 0] if value.dim() == 4 else value for name, value in model.state_dict().items()
    }
    other = LlamaModel(args, Shape(1, 8)).eval()
    other.load(sorted_weights, pairs_neighbours=False)
    with torch.no_grad():
        torch.testing.assert_close(follow([(other, other)], TOKENS), expected)
    with pytest.raises(ValueError, match=r"the checkpoint does not fit params\.json"):
        other.load({**weights, "layers.0.attention.wq.weight": torch.ones(3, 5)})


def _files(folder: Path) -> list[str]:
    _, weights, _ = _checkpoint()
    torch.save(weights, folder / "consolidated.00.pth")
    (folder / "params.json").write_text(json.dumps(PARAMS))
    lines = [b"%s %d" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    (folder / "tokenizer.model").write_bytes(b"\n".join(lines))
    names = {"checkpoint": "consolidated.00.pth", "params": "params.json", "tokenizer_model": "tokenizer.model"}
    return [argument for name, file in names.items() for argument in (f"--{name}", str(folder / file))]


def test_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """LQ-06, LQ-07: the documented arguments; an earlier program is used without a compilation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    device = ["-b", "build-android", "-s", "SERIAL", "-m", "SM8650", "--decoder_model", "llama3_2-3b_instruct"]
    more = ["--model_mode", "kv", "--max_seq_len", "8", "--prompt", "Hi", "--tasks", "wikitext", "--limit", "1"]
    call = [*device, *_files(tmp_path), *more]
    assert run_script(SCRIPT, *call, "--compile_only") == 0
    said = capsys.readouterr()
    assert said.out == "wrote artifact/llama_qnn.pte\n" and "--tasks wikitext: not read" in said.err
    assert "--limit 1: not read" in said.err
    ReferenceProgram(Path("artifact", "llama_qnn.pte"))
    hybrid = ["--model_mode", "hybrid", "--prefill_ar_len", "4", "--compile_only", "-a", "both"]
    assert run_script(SCRIPT, *call, *hybrid) == 0
    assert set(ReferenceProgram(Path("both", "llama_qnn.pte"))._methods) == {"kv_forward", "prefill_forward"}
    assert run_script(SCRIPT, *call, *hybrid, "--prefill_ar_len", "8") == 1
    assert "--prefill_ar_len is 8; expected 2 to 7 tokens" in capsys.readouterr().err
    assert run_script(SCRIPT, *call, "--prefill_ar_len", "4", "--compile_only") == 1
    assert "--prefill_ar_len is for --model_mode hybrid, found --model_mode kv" in capsys.readouterr().err
    monkeypatch.setattr(torch.export, "export", None)
    assert run_script(SCRIPT, *call, "--compile_only", "--pre_gen_pte", "artifact") == 0
    assert run_script(SCRIPT, *device, "--compile_only") == 1
    assert "pass --checkpoint" in capsys.readouterr().err
    Path("params.json").write_text(json.dumps({**PARAMS, "sliding_window": 4}))
    assert run_script(SCRIPT, *call, "--compile_only") == 1
    assert "params.json has names that this script does not support: sliding_window" in capsys.readouterr().err
    Path("params.json").write_text(json.dumps({**PARAMS, "n_layers": 3}))
    assert run_script(SCRIPT, *call, "--compile_only") == 1
    assert "the checkpoint does not fit params.json" in capsys.readouterr().err
