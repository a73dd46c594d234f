# SPDX-License-Identifier: BSD-3-Clause
"""LoRA adapters: the files of PEFT, and where their weights belong in a `Transformer`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from sdk.exir._serialize._regular_file import JSONFileError, read_json, regular
from sdk.exir.serde._tensor_file import TensorFileError
from sdk.exir.serde._weights_file import load_weights
from sdk.extension.llm.export.checkpoint._fields import Fields
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Weights
from sdk.extension.llm.model.lora import LoRALinear
from sdk.extension.llm.model.model_args import ModelArgs

_LAYERS = {
    "q_proj": "attention.wq",
    "k_proj": "attention.wk",
    "v_proj": "attention.wv",
    "o_proj": "attention.wo",
    "output_proj": "attention.wo",
    "gate_proj": "feed_forward.w1",
    "down_proj": "feed_forward.w2",
    "up_proj": "feed_forward.w3",
}
_NAME = re.compile(r".*layers\.(\d+)\.\w+\.(\w+)\.lora_([AB])(?:\.default)?\.weight", re.IGNORECASE)


_WITHOUT_EFFECT = frozenset(
    [
        "auto_mapping",
        "base_model_name_or_path",
        "inference_mode",
        "lora_dropout",
        "megatron_config",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "revision",
        "task_type",
    ]
)
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "alora_invocation_tokens": (None,),
    "alpha_pattern": ({}, None),
    "arrow_config": (None,),
    "bias": ("none",),
    "corda_config": (None,),
    "ensure_weight_tying": (False,),
    "eva_config": (None,),
    "exclude_modules": (None, []),
    "fan_in_fan_out": (False,),
    "init_lora_weights": (True, False, "gaussian"),
    "layer_replication": (None,),
    "layers_pattern": (None,),
    "layers_to_transform": (None,),
    "loftq_config": ({}, None),
    "lora_bias": (False,),
    "modules_to_save": (None, []),
    "peft_type": ("LORA",),
    "rank_pattern": ({}, None),
    "target_parameters": (None, []),
    "trainable_token_indices": (None,),
    "use_dora": (False,),
    "use_qalora": (False,),
}
"""Values of an adapter that `LoRALinear` computes. Some other initialisations of adapters also change the weights of
the layer itself."""


def adapter_args(path: str | Path) -> dict[str, Any]:
    """Returns the fields of `ModelArgs` from an `adapter_config.json`: rank, alpha and the layers that have adapters.

    Raises CheckpointError for a file that lacks one of them, and for an entry that may change what the adapter computes
    in a way that this version does not support.
    """
    try:
        read = read_json(path)
    except JSONFileError as error:
        raise CheckpointError(str(error)) from None
    if not isinstance(read, dict):
        raise CheckpointError(f"{path}: expected a JSON object with r, lora_alpha and target_modules")
    fields = Fields(read, str(path), defaults={"use_rslora": False})
    rank, alpha = fields.whole("r"), fields.positive("lora_alpha")
    if fields.flag("use_rslora"):
        alpha *= math.sqrt(rank)  # the product is scaled by alpha / sqrt(rank)
    layers = fields.items("target_modules", str)
    if layers is None or (unknown := sorted(set(layers) - _LAYERS.keys())):
        what = f"found {', '.join(unknown)[:200]}, expected" if layers else "expected some of"
        raise fields.error(f"target_modules: {what} {', '.join(_LAYERS)}")
    fields.refuse_the_rest(_WITHOUT_EFFECT, _NEUTRAL)
    return {"r": rank, "lora_alpha": alpha, "target_modules": layers}


def adapter_weights(items: Iterable[tuple[str, Tensor]], args: ModelArgs) -> Weights:
    """Renames weights from PEFT to the names of a `Transformer`. Raises CheckpointError for other names, and for
    weights that are not matrices of floating-point numbers or do not have whole heads.

    PEFT's weights have the rows of queries and keys in Hugging Face's order, in which RoPE rotates halves of a head.
    """
    weights: Weights = {}
    for name, value in items:
        match = _NAME.fullmatch(name)
        if match is None or match[2] not in _LAYERS:
            example = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
            raise CheckpointError(f"{name[:200]} is not a weight of an adapter, such as {example}")
        if value.dim() != 2 or not value.is_floating_point():
            raise CheckpointError(
                f"{name}: expected a matrix of floating-point numbers, found {value.dtype} of sizes {list(value.shape)}"
            )
        side = match[3].lower()
        if side == "b" and match[2] in ("q_proj", "k_proj") and not args.use_hf_rope:
            value = _in_pairs(name, value, args.head_dim or 0)
        weights[f"layers.{match[1]}.{_LAYERS[match[2]]}.lora_{side}.weight"] = value.float()
    return weights


def _in_pairs(name: str, rows: Tensor, head_dim: int) -> Tensor:
    """Reorders the rows of each head: from halves, which Hugging Face's RoPE rotates, to pairs of neighbours."""
    if head_dim < 2 or head_dim % 2 or len(rows) % head_dim:
        raise CheckpointError(
            f"{name}: expected whole heads of an even head_dim; the model has head_dim {head_dim}, the matrix "
            f"{len(rows)} rows"
        )
    return rows.unflatten(0, (-1, 2, head_dim // 2)).transpose(1, 2).flatten(0, 2)


def read_adapter(path: str | Path) -> Weights:
    """The weights of an adapter's .safetensors or .pt file, under the names that they have there.

    Raises CheckpointError for a file that is not an adapter.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if Path(path).suffix == ".safetensors":
            return load_file(regular(path))
        found = load_weights(path)
    except (SafetensorError, TensorFileError, RuntimeError, EOFError, UnpicklingError) as error:
        raise CheckpointError(f"{path} is not an adapter: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise CheckpointError(
            f"{path} is not an adapter: expected tensors by their names, found {type(found).__name__}"
        )
    for name, value in found.items():
        if not isinstance(name, str) or not _is_stored(value):
            raise CheckpointError(
                f"{path} is not an adapter: expected tensors by their names, found {type(value).__name__} as "
                f"{str(name)[:80]!r}"
            )
    return dict(found)


def _is_stored(value: Any) -> bool:
    """Whether a value is a tensor whose storage holds all of its elements, so that a copy takes no more memory than the
    file. Expanded tensors repeat elements instead."""
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_meta:
        return False
    return value.numel() * value.itemsize <= value.untyped_storage().nbytes()


def with_adapters(model: nn.Module, weights: Weights) -> Weights:
    """Returns the weights. In layers with adapters, they get the names that `LoRALinear` expects."""
    inner = {f"{name}." for name, module in model.named_modules() if isinstance(module, LoRALinear)}

    def renamed(name: str) -> str:
        layer, _, kind = name.rpartition(".")
        return f"{layer}.linear.{kind}" if f"{layer}." in inner else name

    return {renamed(name): value for name, value in weights.items()}
