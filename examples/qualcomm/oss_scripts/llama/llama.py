# SPDX-License-Identifier: BSD-3-Clause
"""Exports a decoder for Qualcomm's NPUs, with caches that are inputs and outputs: ARTIFACT/llama_qnn.pte.

    python examples/qualcomm/oss_scripts/llama/llama.py -m SM8650 --checkpoint consolidated.00.pth \\
        --params params.json --tokenizer_model tokenizer.model --decoder_model llama3_2-3b_instruct \\
        --model_mode kv --max_seq_len 1024 --prompt "I would like to learn python" --compile_only

The prompts also calibrate the ranges of activations. With `--model_mode hybrid`, the program has two methods that share
their weights: `prefill_forward` takes `--prefill_ar_len` tokens of a prompt, `kv_forward` one token.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from examples.qualcomm.oss_scripts.llama import SUPPORTED_LLM_MODELS, LLMModelConfig
from examples.qualcomm.oss_scripts.llama.model.static_llama import LlamaModel, Shape
from examples.qualcomm.utils import run, setup_common_args_and_variables

from sdk.backends.qualcomm._passes.seq_mse import SeqMSE
from sdk.backends.qualcomm.utils.utils import (
    generate_htp_compiler_spec,
    generate_qnn_executorch_compiler_spec,
    get_soc_to_chipset_map,
    to_edge_transform_and_lower_to_qnn,
)
from sdk.exir import EdgeProgramManager
from sdk.exir.lowered_backend_module import get_lowered_submodules
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.tokenizers import get_tokenizer

FILE = "llama_qnn.pte"
_ADD = torch.ops.aten.add.Tensor
_PARAMS = {
    "dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "hidden_dim", "head_dim", "multiple_of", "norm_eps",
    "ffn_dim_multiplier", "rope_theta", "rope_freq_base", "use_scaled_rope", "rope_scale_factor",
}  # fmt: skip
"""The supported names in params.json."""


def parser() -> argparse.ArgumentParser:
    """The arguments of the script."""
    found = setup_common_args_and_variables(__doc__)
    found.add_argument("--checkpoint", type=Path, help="weights with the names of Meta's checkpoints")
    found.add_argument("--params", type=Path, help="the hyperparameters, as JSON")
    found.add_argument("--tokenizer_model", type=Path, help="the tokenizer's file")
    found.add_argument("--decoder_model", required=True, choices=sorted(SUPPORTED_LLM_MODELS))
    found.add_argument(
        "--model_mode", default="kv", choices=["kv", "hybrid"], help="kv: one token per call; hybrid: also a prefill"
    )
    found.add_argument("--prefill_ar_len", type=int, help="the tokens of a call of hybrid's prefill (default: 32)")
    found.add_argument("--max_seq_len", type=int, default=512, help="the number of tokens in a context")
    found.add_argument("--prompt", action="append", default=[], help="text for calibration; may be given several times")
    found.add_argument("--tasks", nargs="+", help="data sets of lm-eval; this script prints that it does not read them")
    found.add_argument("--limit", type=int, help="how many examples of each task")
    return found


def _model(options: argparse.Namespace, config: LLMModelConfig) -> LlamaModel:
    for name in ("checkpoint", "params", "tokenizer_model"):
        if getattr(options, name) is None:
            raise ValueError(f"pass --{name}: a program is made from it")
    if options.max_seq_len < 2:
        raise ValueError(f"--max_seq_len is {options.max_seq_len}; expected at least 2 tokens")
    if options.model_mode != "hybrid" and options.prefill_ar_len is not None:
        raise ValueError(f"--prefill_ar_len is for --model_mode hybrid, found --model_mode {options.model_mode}")
    if options.prefill_ar_len is None:
        options.prefill_ar_len = 32
    if options.model_mode == "hybrid" and not 2 <= options.prefill_ar_len < options.max_seq_len:
        raise ValueError(
            f"--prefill_ar_len is {options.prefill_ar_len}; expected 2 to {options.max_seq_len - 1} tokens, less than "
            f"--max_seq_len"
        )
    given = json.loads(options.params.read_text(encoding="utf-8"))
    if unknown := sorted(given.keys() - _PARAMS):
        raise ValueError(f"{options.params} has names that this script does not support: {', '.join(unknown)}")
    model = LlamaModel(ModelArgs(**given), Shape(1, options.max_seq_len)).eval()
    model.load(torch.load(options.checkpoint, map_location="cpu", weights_only=True), config.transform_weight)
    return model


def with_tokens(model: LlamaModel, tokens: int) -> LlamaModel:
    """Returns a model with the same weights and context whose calls take another number of tokens."""
    other = LlamaModel(model.args, Shape(tokens, model.shape.context)).eval()
    other.load_state_dict(model.state_dict(), assign=True)
    return other


Call = tuple[Callable[..., Sequence[Tensor]], LlamaModel]
"""A function that computes a model, and the model, which makes its inputs."""


def follow(calls: Sequence[Call], tokens: Sequence[int]) -> Tensor:
    """Passes a text to a model and returns the logits of all tokens. The first call takes as many tokens as it can, the
    next one the others; the last call is for one token."""
    (_, one), first, logits = calls[-1], 0, []
    caches = one.empty()
    for step, model in calls:
        count = model.shape.tokens
        while len(tokens) - first >= count and first <= model.shape.past:
            found, *new = step(*model.inputs(list(tokens[first : first + count]), first, caches))
            caches = [torch.cat(pair, 2)[:, :, count:] for pair in zip(caches, new, strict=True)]
            logits.append(found)
            first += count
    return torch.cat(logits, 1)


def _prepared(model: LlamaModel, config: LLMModelConfig) -> Any:
    captured = torch.export.export(model, model.inputs([0], 0, model.empty()), strict=True).module()
    return prepare_pt2e(captured, config.quant_recipe().quantizer())


def calibrated(model: LlamaModel, config: LLMModelConfig, prompts: list[list[int]]) -> Any:
    """Prepares a model that takes one token for its recipe, and observes prompts."""
    prepared = _prepared(model, config)
    calls: list[tuple[Tensor, ...]] = []

    def step(*given: Tensor) -> Any:
        # The inputs of each token include all caches, which take much memory for long prompts.
        if config.seq_mse_candidates:
            calls.append(given)
        return prepared(*given)

    with torch.no_grad():
        for tokens in prompts:
            follow([(step, model)], tokens)
    if config.seq_mse_candidates:
        SeqMSE(prepared, config.seq_mse_candidates).choose(calls)
    return prepared


def quantized(
    model: LlamaModel, config: LLMModelConfig, prompts: list[list[int]], prefill: LlamaModel | None = None
) -> list[Any]:
    """Quantises a model with its recipe, calibrated by prompts. `prefill` is the same model for several tokens: it gets
    the same scales, so that both have the same weights, and one reads the caches that the other wrote."""
    prepared = calibrated(model, config, prompts)
    both = [prepared]
    if prefill is not None:
        both.append(_prepared(prefill, config))
        calls = [[node.target for node in each.graph.nodes] for each in both]
        assert calls[0] == calls[1], "the observers belong to the same calls of both graphs"
        # One observer has several names where calls share their scale.
        for name, observer in prepared.named_modules(remove_duplicate=False):
            if name.startswith("activation_post_process") and "." not in name:
                both[1].add_module(name, observer)
    return [convert_pt2e(each) for each in both]


def shard_ends(graph: torch.fx.Graph, layers: int, shards: int) -> set[str]:
    """Returns the names in the edge dialect of the additions that end a shard; they stay on kernels.

    Raises ValueError if there are more shards than layers.
    """
    if not 1 <= shards <= layers:
        raise ValueError(f"num_sharding is {shards}; expected 1 to {layers}, the number of layers")
    of_layer = len([node for node in graph.nodes if node.target == _ADD]) // layers
    ends = [of_layer * (layers * shard // shards) - 1 for shard in range(1, shards)]
    return {f"aten_add_tensor_{end}" for end in ends}


def lowered(methods: dict[str, tuple[Any, LlamaModel]], chip: str, shards: int) -> EdgeProgramManager:
    """Lowers quantised models of methods, which share their weights. Each shard is a delegate.

    Raises ValueError for an unknown chip, and if a method has other parts.
    """
    chips = get_soc_to_chipset_map()
    if chip not in chips:
        raise ValueError(f"there is no chip {chip!r} of Qualcomm; expected one of {', '.join(chips)}")
    options = generate_htp_compiler_spec(use_fp16=False, use_weight_sharing=len(methods) > 1)
    specs = generate_qnn_executorch_compiler_spec(chips[chip], options)
    ends = set().union(*(shard_ends(module.graph, model.args.n_layers, shards) for module, model in methods.values()))
    manager = to_edge_transform_and_lower_to_qnn(
        {name: module for name, (module, _) in methods.items()},
        {name: model.inputs([0], 0, model.empty()) for name, (_, model) in methods.items()},
        specs,
        skip_node_id_set=ends,
    )
    for name in methods:
        parts = len(get_lowered_submodules(manager.exported_program(name).graph_module))
        if parts < shards:
            raise ValueError(f"the method {name} has {parts} delegates; expected {shards} or more")
    return manager


def export(options: argparse.Namespace, file: Path) -> None:
    """Writes the program. Raises ValueError for arguments that do not fit, OSError for files."""
    config = SUPPORTED_LLM_MODELS[options.decoder_model]
    config.refuse_unsupported()
    model = _model(options, config)
    for given in (
        "--tasks " + " ".join(options.tasks) if options.tasks else "",
        f"--limit {options.limit}" if options.limit is not None else "",
    ):
        if given:
            print(f"{given}: not read; the prompts alone calibrate", file=sys.stderr)
    tokenizer = get_tokenizer(str(options.tokenizer_model))
    prompts = [tokenizer.encode(prompt, bos=True, eos=False)[: options.max_seq_len] for prompt in options.prompt]
    if not prompts:
        raise ValueError("pass --prompt: the ranges of activations are found with it")
    models = {"forward": model}
    if options.model_mode == "hybrid":
        models = {"kv_forward": model, "prefill_forward": with_tokens(model, options.prefill_ar_len)}
    modules = quantized(model, config, prompts, models.get("prefill_forward"))
    methods = {name: (module, each) for (name, each), module in zip(models.items(), modules, strict=True)}
    shards = min(config.num_sharding, model.args.n_layers)
    program = lowered(methods, options.model, shards).to_executorch()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(program.buffer)
    print(f"wrote {file}")


def main() -> int:
    """The status of the script."""
    options = parser().parse_args()
    options.artifact = options.artifact or Path("artifact")
    return run(options, FILE, lambda file: export(options, file))


if __name__ == "__main__":
    sys.exit(main())
