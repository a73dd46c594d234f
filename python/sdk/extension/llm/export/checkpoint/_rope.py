# SPDX-License-Identifier: BSD-3-Clause
"""Reads the description of rotary position embedding in a `config.json`: fields of `ModelArgs` from
`rope_parameters`."""

from __future__ import annotations

import math
from typing import Any

from sdk.extension.llm.export.checkpoint._fields import Fields

_KINDS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
_OLD_NAMES = {"su": "longrope"}
_PHI3_NAMES = {**_OLD_NAMES, "yarn": "longrope"}
"""Phi-3's earlier names of LongRoPE."""
_LEAST_TURNS = 1e-6
"""The fewest turns in the trained context that YaRN's bounds may name."""


def rope_entries(fields: Fields) -> Fields:
    """Returns `rope_parameters`, or `rope_scaling`, its name before version 5 of transformers.

    Raises CheckpointError if both are there and differ.
    """
    names = [name for name in ("rope_parameters", "rope_scaling") if fields.has(name)]
    if len(names) == 2 and fields.value(names[0]) != fields.value(names[1]):
        raise fields.error("rope_parameters and rope_scaling differ; remove one of them")
    fields.value("rope_parameters", None), fields.value("rope_scaling", None)
    return fields.inner(names[0] if names else "rope_parameters")


def rope_fields(fields: Fields, rope: Fields, theta: float, phi3: bool = False) -> dict[str, Any]:
    """Fields of `ModelArgs` for the RoPE of all layers, or of those without a sliding window where the two differ.

    `rope`: the entries that describe it, which must all be known. `theta`: the base frequency of models that do not
        specify one.
    """
    outside = fields.positive("rope_theta", theta)
    found: dict[str, Any] = {"rope_theta": rope.positive("rope_theta", outside)}
    if phi3:
        share = fields.positive("partial_rotary_factor", 1.0)
        found["partial_rotary_factor"] = rope.positive("partial_rotary_factor", share)
        if found["partial_rotary_factor"] > 1:
            raise (rope if rope.has("partial_rotary_factor") else fields).wrong(
                "partial_rotary_factor", "a number above 0 and at most 1"
            )
    kind = _kind(rope, _PHI3_NAMES if phi3 else _OLD_NAMES)
    if kind in ("linear", "dynamic"):
        found |= {"rope_scaling_type": kind, "rope_scaling_factor": rope.positive("factor")}
    if kind == "dynamic":
        found["max_position_embeddings"] = fields.whole("max_position_embeddings")
    elif kind == "yarn":
        found |= _yarn(fields, rope, found["rope_theta"])
    elif kind == "llama3":
        found |= _llama3(fields, rope)
    elif kind == "longrope":
        found |= _longrope(fields, rope, phi3)
    rope.refuse_the_rest(neutral={"partial_rotary_factor": (1.0,), "finetuned": (True, False)})
    return found


def _kind(rope: Fields, other_names: dict[str, str]) -> str:
    named = [rope.value(name) for name in ("rope_type", "type") if rope.has(name)] or ["default"]
    rope.value("rope_type", None), rope.value("type", None)
    kinds = {other_names.get(name, name) if isinstance(name, str) else "" for name in named}
    kind: str = kinds.pop()
    if kinds or kind not in _KINDS:
        raise rope.wrong("rope_type" if rope.has("rope_type") else "type", f"one of {', '.join(_KINDS)}")
    return kind


def _trained(fields: Fields, rope: Fields) -> int:
    """The positions that the model was trained on before its context was extended."""
    whole: int = rope.whole("original_max_position_embeddings", fields.whole("max_position_embeddings"))
    return whole


def _yarn(fields: Fields, rope: Fields, theta: float) -> dict[str, Any]:
    trained = _trained(fields, rope)
    if theta <= 1:
        raise (rope if rope.has("rope_theta") else fields).wrong("rope_theta", "a number above 1, as yarn needs")
    for name in ("beta_fast", "beta_slow"):
        turns = rope.positive(name, None, optional=True)
        if turns is not None and turns < _LEAST_TURNS:
            raise rope.wrong(name, f"at least {_LEAST_TURNS}")
    factor = rope.positive("factor", None, optional=True) or fields.whole("max_position_embeddings") / trained
    scale, whole = rope.positive("mscale", None, optional=True), rope.positive("mscale_all_dim", None, optional=True)
    attention = yarn_attention(factor)
    if scale and whole:
        attention = yarn_attention(factor, scale) / yarn_attention(factor, whole)
    return {
        "rope_scaling_type": "yarn",
        "rope_scaling_factor": factor,
        "rope_scaling_attention_factor": rope.positive("attention_factor", attention, optional=True) or attention,
        "rope_scaling_beta_fast": rope.positive("beta_fast", 32.0, optional=True) or 32.0,
        "rope_scaling_beta_slow": rope.positive("beta_slow", 1.0, optional=True) or 1.0,
        "rope_scaling_truncate": rope.flag("truncate", True),
        "original_max_position_embeddings": trained,
    }


def yarn_attention(factor: float, scale: float = 1.0) -> float:
    """The scale of sines and cosines that YaRN (Peng et al., 2023) has for a longer context."""
    return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0


def _llama3(fields: Fields, rope: Fields) -> dict[str, Any]:
    low, high = rope.positive("low_freq_factor"), rope.positive("high_freq_factor")
    if high < low:
        raise rope.wrong("high_freq_factor", f"at least low_freq_factor, {low}")
    return {
        "use_scaled_rope": True,
        "rope_scale_factor": rope.positive("factor"),
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": _trained(fields, rope),
    }


def _longrope(fields: Fields, rope: Fields, phi3: bool) -> dict[str, Any]:
    trained = _trained(fields, rope)
    if phi3 and fields.has("original_max_position_embeddings"):
        named = fields.whole("original_max_position_embeddings")
        if rope.has("original_max_position_embeddings") and named != trained:
            raise rope.wrong("original_max_position_embeddings", f"{named}, as outside of it")
        trained = named
    if trained == 1:
        raise fields.error("original_max_position_embeddings is 1, expected a whole number from 2")
    factor = rope.positive("factor", None, optional=True) or fields.whole("max_position_embeddings") / trained
    growth = math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0
    for name in ("short_factor", "long_factor"):
        factors = rope.items(name, float)
        if not factors or min(factors) <= 0:
            raise rope.wrong(name, "a list of numbers above 0")
    return {
        "rope_scaling_short_factor": rope.items("short_factor", float),
        "rope_scaling_long_factor": rope.items("long_factor", float),
        "rope_scaling_attention_factor": rope.positive("attention_factor", growth, optional=True) or growth,
        "original_max_position_embeddings": trained,
        "max_position_embeddings": fields.whole("max_position_embeddings"),
    }
