# SPDX-License-Identifier: BSD-3-Clause
"""Every field of a `config.json` has its effect, or has no effect in transformers either, or gives an error that names
it."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
import torch
import transformers
from language_models import CONFIGS, SLIDING, random_model, with_weights_of

from sdk.extension.llm.export.checkpoint import CheckpointError, hugging_face_args
from sdk.extension.llm.export.checkpoint._config import MODEL_TYPES
from sdk.extension.llm.model.transformer import construct_transformer

TOKENS = torch.randint(0, 96, (1, 23), generator=torch.Generator().manual_seed(3))
BASE = transformers.PreTrainedConfig().to_dict()
OTHERS: dict[str, list[Any]] = {
    "sliding_window": [None, 3],
    "layer_types": [SLIDING, ["full_attention"] * 3, ["conv", "conv", "full_attention"]],
    "head_dim": [16, 8],
    "hidden_act": ["gelu", "gelu_pytorch_tanh", "relu", "silu"],
    "hidden_activation": ["gelu", "silu", "relu"],
    "num_key_value_heads": [None, 3],
    "num_attention_heads": [3],
    "hidden_size": [96],
    "no_rope_layers": [[1, 1, 0], [0, 1, 1], None],
    "full_attn_idxs": [[0], [1, 2]],
    "final_logit_softcapping": [None, 1.5],
    "attn_logit_softcapping": [None, 1.5],
    "use_bidirectional_attention": [True, False],
    "original_max_position_embeddings": [8, 32],
    "max_position_embeddings": [16, 64],
    "partial_rotary_factor": [0.5],
    "max_window_layers": [0, 2],
    "use_sliding_window": [True, False],
    "vocab_size": [97],
    "num_hidden_layers": [2],
    "eos_token_id": [5],
    "dtype": ["float32"],
    "rope_parameters": [
        {"rope_type": "linear", "rope_theta": 1e4, "factor": 3.0},
        {"rope_type": "yarn", "rope_theta": 1e3, "factor": 3.0, "beta_fast": 4.0, "beta_slow": 0.5},
        {"rope_type": "yarn", "factor": 3.0, "mscale": 0.7, "mscale_all_dim": 0.3, "truncate": False},
        {"rope_type": "yarn", "factor": 3.0, "attention_factor": 1.3, "original_max_position_embeddings": 8},
        {"rope_type": "llama3", "factor": 3.0, "low_freq_factor": 2.0, "high_freq_factor": 9.0}
        | {"original_max_position_embeddings": 20},
        {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 3.0},
        {"rope_type": "proportional", "rope_theta": 1e4, "factor": 3.0},
        {"rope_type": "default", "rope_theta": 500.0},
        {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5},
        {"full_attention": {"rope_type": "linear", "factor": 3.0}, "sliding_attention": {"rope_theta": 50.0}},
        {"full_attention": {"rope_theta": 50.0}, "sliding_attention": {"rope_type": "linear", "factor": 3.0}},
    ],
}
"""Values to try for fields; other fields get some that follow from their type."""


def others(name: str, value: Any) -> list[Any]:
    """Other values that a field may have."""
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value * 2 or 1]
    return ["other", 7, True, 0.5] if value is None or isinstance(value, str) else []


def logits(model: Any, *args: Any) -> torch.Tensor:
    with torch.no_grad():
        result = model(*args)
    return getattr(result, "logits", result)


def theirs_of(config: dict[str, Any]) -> Any:
    """A model of transformers, None where it refuses the configuration."""
    try:
        model = random_model(transformers.AutoConfig.for_model(**copy.deepcopy(config)))
        logits(model, TOKENS)
        return model
    except Exception:
        return None


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "qwen3_moe",
        "phi3",
        "smollm3",
        "granite",
        "olmo2",
        "gemma2",
        "gemma3",
        "lfm2",
    ],
)
def test_each_field_acts_as_in_transformers_or_is_named(name: str):
    """Changes one field of the model's configuration class at a time.

    Fields that all configurations have are tried with one of them.
    """
    config = CONFIGS[name]().to_dict()
    counts = {"the same": 0, "named": 0}
    for field, value in sorted(config.items()):
        for other in others(field, value):
            if field == "model_type" or other == value or (name != "llama" and field in BASE):
                continue
            changed = {**copy.deepcopy(config), field: copy.deepcopy(other)}
            theirs = theirs_of(changed)
            if theirs is None:
                continue
            try:
                ours = with_weights_of(theirs, changed)
            except CheckpointError as error:
                assert field in str(error) or (isinstance(other, dict) and "rope_" in str(error)), error
                counts["named"] += 1
                continue
            message = f"{field} = {other!r}"
            torch.testing.assert_close(
                logits(ours, TOKENS),
                logits(theirs, TOKENS),
                rtol=1e-3,
                atol=1e-3,
                msg=lambda m, at=message: f"{at}: {m}",
            )
            counts["the same"] += 1
    assert counts["the same"] > 20 and counts["named"] > 0, counts


OLD_AND_NEW: dict[str, list[Any]] = {
    "tie_word_embeddings": [True, False],
    "rope_theta": [500.0],
    "rope_scaling": [
        {"type": "linear", "factor": 3.0},
        {"rope_type": "dynamic", "factor": 2.0},
        {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 16},
    ],
    "rope_parameters": [...],
    "layer_types": [...],
    "attention_bias": [True],
    "sliding_window": [4, None],
    "sliding_window_pattern": [2],
    "use_sliding_window": [True, False],
}
"""Fields of files of any age, some of which depend on others. `...` removes the field."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2", "qwen3", "phi3", "smollm3", "gemma2", "gemma3", "lfm2"])
def test_several_fields_at_once_act_as_in_transformers_or_are_named(name: str):
    """A field that has no effect alone may have one together with another field."""
    random, config = Random(name), CONFIGS[name]().to_dict()
    own = [field for field in sorted(config) if field not in {*BASE, "model_type"} and others(field, config[field])]
    same = 0
    for _ in range(25):
        changes: dict[str, Any] = {}
        for _ in range(random.randint(2, 4)):
            older = random.random() < 0.5
            field = random.choice(list(OLD_AND_NEW) if older else own)
            changes[field] = random.choice(OLD_AND_NEW[field] if older else others(field, config[field]))
        changed = {**copy.deepcopy(config), **copy.deepcopy(changes)}
        changed = {key: value for key, value in changed.items() if value is not ...}
        theirs = theirs_of(changed)
        if theirs is None:
            continue
        try:
            ours = with_weights_of(theirs, changed)
        except CheckpointError:
            continue
        torch.testing.assert_close(
            logits(ours, TOKENS),
            logits(theirs, TOKENS),
            rtol=1e-3,
            atol=1e-3,
            msg=lambda m, at=changes: f"{at}: {m}",
        )
        same += 1
    assert same >= 3


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONFIGS)
def test_a_field_that_is_not_there_has_the_default_of_transformers(name: str):
    """A missing field that has no default is an error that names it."""
    config = CONFIGS[name]().to_dict()
    for field in config:
        fewer = {key: copy.deepcopy(value) for key, value in config.items() if key != field}
        if field == "model_type" or (name, field) == ("phi3", "original_max_position_embeddings"):
            continue  # without the latter, transformers takes its default and not the value in rope_parameters
        try:
            found = hugging_face_args(fewer)
        except CheckpointError as error:
            assert f"config.json lacks '{field}'" in str(error) or f"{field} is None, expected" in str(error)
            continue
        whole = type(CONFIGS[name]())(**copy.deepcopy(fewer)).to_dict()
        assert found == hugging_face_args(whole), field


def test_longrope_under_its_first_names_is_the_same():
    config = CONFIGS["phi3"]().to_dict()
    for name in ("su", "yarn"):
        older = {**config, "rope_parameters": {**config["rope_parameters"], "rope_type": name}}
        assert hugging_face_args(older) == hugging_face_args(config)


OLDER: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma3": (
        "gemma3",
        {
            "layer_types": ...,
            "rope_parameters": ...,
            "sliding_window_pattern": 2,
            "rope_theta": 1e5,
            "rope_local_base_freq": 2e4,
            "rope_scaling": {"rope_type": "linear", "factor": 4.0},
            "attn_logit_softcapping": None,
            "cache_implementation": "hybrid",
            "torch_dtype": "float32",
        },
    ),
    "gemma2": (
        "gemma2",
        {"layer_types": ..., "rope_parameters": ..., "rope_theta": 1e5, "hidden_act": "gelu_pytorch_tanh"}
        | {"sliding_window_size": 5},
    ),
    "qwen2": (
        "qwen2",
        {
            "layer_types": ...,
            "rope_parameters": ...,
            "rope_theta": 1e6,
            "use_sliding_window": True,
            "sliding_window": 4,
            "max_window_layers": 2,
            "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        },
    ),
    "qwen2 without windows": (
        "qwen2",
        {"layer_types": ..., "use_sliding_window": False, "sliding_window": 4, "max_window_layers": 1},
    ),
    "phi3": (
        "phi3",
        {
            "rope_parameters": ...,
            "partial_rotary_factor": 0.75,
            "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.25, 1.5], "long_factor": [1.0, 2.0, 4.0]},
            "attention_bias": False,
            "lm_head_bias": False,
            "full_attn_mod": 1,
            "interpolate_factor": 1,
            "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"},
        },
    ),
    "llama": (
        "llama",
        {
            "rope_parameters": ...,
            "rope_theta": 5e5,
            "rope_scaling": {"type": "dynamic", "factor": 2.0},
            "rope_interleaved": False,
            "is_llama_config": True,
            "pretraining_tp": 2,
            "unsloth_fixed": True,
        },
    ),
    "smollm3": (
        "smollm3",
        {
            "layer_types": ...,
            "no_rope_layers": [1, 0, 1],
            "max_window_layers": 28,
            "rope_parameters": ...,
            "rope_theta": 5e6,
        },
    ),
    "lfm2": (
        "lfm2",
        {
            "layer_types": ...,
            "full_attn_idxs": [1],
            "rope_parameters": ...,
            "rope_theta": 1e6,
            "block_ff_dim": 96,
            "block_use_swiglu": True,
            "conv_dim": 48,
            "tie_embedding": True,
            "use_pos_enc": True,
        },
    ),
}
"""Changes that make files like those of transformers before version 5; `...` removes the field."""


@pytest.mark.parametrize("case", OLDER)
def test_older_forms_of_a_config_give_the_same_model(case: str):
    """The logits equal those of transformers, which reads these forms, too."""
    name, changes = OLDER[case]
    older = {**CONFIGS[name]().to_dict(), **copy.deepcopy(changes)}
    older = {key: value for key, value in older.items() if value is not ...}
    theirs = theirs_of(older)
    ours = with_weights_of(theirs, older)
    torch.testing.assert_close(logits(ours, TOKENS), logits(theirs, TOKENS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name, changes, message",
    [
        ("llama", {"use_magic": True}, "config.json: use_magic is True, and this version does not know"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0, "magic": 1}}, "rope_scaling.magic is 1, and this"),
        ("llama", {"sliding_window": 5}, "sliding_window is 5, expected None: nothing else is supported"),
        ("llama", {"hidden_act": "relu"}, "hidden_act is 'relu', expected one of silu, swish, gelu"),
        ("llama", {"hidden_size": "48"}, "hidden_size is '48', expected a whole number from 1 to"),
        ("llama", {"hidden_size": None}, "hidden_size is None, expected a whole number from 1 to"),
        ("llama", {"rms_norm_eps": float("nan")}, "rms_norm_eps is nan, expected a number above 0"),
        ("llama", {"attention_bias": "yes"}, "attention_bias is 'yes', expected true or false"),
        ("llama", {"quantization_config": {"bits": 4}}, r"quantization_config is \{'bits': 4\}, expected None"),
        ("llama", {"rope_scaling": {"type": "mrope"}}, "rope_scaling.type is 'mrope', expected one of default, linear"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}},
         "rope_parameters and rope_scaling differ"),
        ("llama", {"rope_scaling": {"type": "llama3", "factor": 2.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}},
         "rope_scaling.high_freq_factor is 1.0, expected at least low_freq_factor, 4.0"),
        ("llama", {"rope_scaling": False}, "rope_scaling is False, expected an object"),
        ("llama", {"rope_parameters": ""}, "rope_parameters is '', expected an object"),
        ("llama", {"rope_parameters": []}, r"rope_parameters is \[\], expected an object"),
        ("llama", {"rope_scaling": {"type": "longrope", "short_factor": [], "long_factor": [1.0]}},
         r"short_factor is \[\], expected a list of numbers above 0"),
        ("llama", {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": None}},
         "long_factor is None, expected a list of numbers above 0"),
        ("llama", {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [float("inf")]}},
         r"long_factor is \[inf\], expected a list of float"),
        ("llama", {"rope_scaling": {"type": "longrope", "short_factor": [0], "long_factor": [10**400]}},
         r"short_factor is \[0\], expected a list of numbers above 0"),
        ("llama", {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0],
                                    "original_max_position_embeddings": 1}},
         "original_max_position_embeddings is 1, expected a whole number from 2"),
        ("llama", {"rope_theta": 1.0, "rope_scaling": {"type": "yarn", "factor": 2.0}},
         "config.json: rope_theta is 1.0, expected a number above 1, as yarn needs"),
        ("llama", {"rope_scaling": {"type": "yarn", "factor": 2.0, "rope_theta": 0.5}},
         "rope_scaling.rope_theta is 0.5, expected a number above 1"),
        ("llama", {"rope_scaling": {"type": "yarn", "factor": 2.0, "beta_slow": 1e-308}},
         "rope_scaling.beta_slow is 1e-308, expected at least 1e-06"),
        ("phi3", {"rope_scaling": {"type": "default", "partial_rotary_factor": 1e308}},
         r"rope_scaling.partial_rotary_factor is 1e\+308, expected a number above 0 and at most 1"),
        ("llama", {"model_type": []}, r"the model type \[\] is not supported; supported are"),
        ("llama", {"model_type": {}}, r"the model type \{\} is not supported; supported are"),
        ("llama", {"rope_scaling": [1]}, r"rope_scaling is \[1\], expected an object"),
        ("qwen2", {"layer_types": SLIDING}, "use_sliding_window is False, expected true"),
        ("mistral", {"layer_types": SLIDING}, "layer_types is .*, expected sliding_attention for each layer"),
        ("qwen2", {"layer_types": ["chunked_attention"] * 3}, "layer_types is .*, expected sliding_attention or full_"),
        ("qwen3", {"layer_types": ["full_attention"] * 2}, "layer_types is .*, expected .* for each of 3 layers"),
        ("smollm3", {"layer_types": [0, 1, 0]}, r"layer_types is \[0, 1, 0\], expected"),
        ("gemma3", {"layer_types": [*SLIDING, "full_attention"]}, "layer_types is .*, expected .* for each of 3 lay"),
        ("gemma2", {"use_bidirectional_attention": True}, "use_bidirectional_attention is True, expected None or"),
        ("gemma3", {"attn_logit_softcapping": 30.0}, "attn_logit_softcapping is 30.0, expected None"),
        ("gemma2", {"hidden_act": "silu"}, "hidden_act is 'silu', expected 'gelu_pytorch_tanh', as hidden_activation"),
        ("smollm3", {"no_rope_layers": [1]}, r"no_rope_layers is \[1\], expected at least 3 numbers"),
        ("lfm2", {"conv_L_cache": 4}, "conv_L_cache is 4, expected 3"),
        ("gemma3", {"rope_parameters": {"rope_type": "default"}}, "rope_parameters.rope_type is 'default', and this"),
        ("gemma3", {"sliding_window": None}, "sliding_window is None, expected a whole number"),
    ],
)  # fmt: skip
def test_what_a_config_changes_without_our_knowledge_is_named(name: str, changes: dict[str, Any], message: str):
    config = CONFIGS[name]().to_dict()
    if "rope_scaling" in changes and "rope_parameters" not in changes:
        del config["rope_parameters"]
    with pytest.raises(CheckpointError, match=message):
        hugging_face_args({**config, **changes})


def test_the_table_has_the_models_of_the_tests():
    assert set(MODEL_TYPES) == {CONFIGS[name]().model_type for name in CONFIGS}


def test_a_head_of_an_odd_number_of_elements_is_an_error():
    """As in transformers, where the sizes of tensors do not fit."""
    args = hugging_face_args({**CONFIGS["llama"]().to_dict(), "head_dim": 3})
    with pytest.raises(ValueError, match="a head has 3 of them, an odd number"):
        construct_transformer(args)
