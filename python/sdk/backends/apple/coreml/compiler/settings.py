# SPDX-License-Identifier: BSD-3-Clause
"""`Settings`: the options in the compile specs of a delegate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler.compile_specs import (
    COMPILE_SPEC_KEYS,
    MULTIMETHOD_WEIGHT_SHARING_STRATEGY,
    EnumeratedShape,
    ModelType,
    check_keys,
    member,
    shapes_from_text,
    target_of,
    text_of,
)
from sdk.exir.backend.compile_spec_schema import CompileSpec

UNITS = {"all": "ALL", "cpu_only": "CPU_ONLY", "cpu_and_gpu": "CPU_AND_GPU", "cpu_and_ne": "CPU_AND_NE"}


@dataclass(frozen=True)
class Settings:
    """The options of one delegate. `target` is None for the oldest that has the operators."""

    compute_unit: Any
    target: Any
    precision: Any
    model_type: ModelType
    quantizer: Any
    enumerated: tuple[EnumeratedShape, ...]
    passes: Any
    sharing: MULTIMETHOD_WEIGHT_SHARING_STRATEGY


def settings_of(specs: Sequence[CompileSpec]) -> Settings:
    """The options in compile specs. Raises ValueError for a key or a value that Core ML does not have."""
    ct = coremltools()
    check_keys(specs)
    keys = COMPILE_SPEC_KEYS
    unit = text_of(specs, keys.COMPUTE_UNITS) or "all"
    if unit not in UNITS:
        raise ValueError(f"the compute unit is {unit!r}; expected one of {', '.join(UNITS)}")
    config = text_of(specs, keys.OP_LINEAR_QUANTIZER_CONFIG)
    shapes = text_of(specs, keys.ENUMERATED_SHAPES)
    passes = text_of(specs, keys.PASS_PIPELINE)
    strategy = text_of(specs, keys.MULTIMETHOD_WEIGHT_SHARING_STRATEGY) or "positional"
    return Settings(
        getattr(ct.ComputeUnit, UNITS[unit]),
        target_of(specs),
        member(ct.precision, text_of(specs, keys.MODEL_COMPUTE_PRECISION) or "float16", "the compute precision"),
        member(ModelType, text_of(specs, keys.MODEL_TYPE) or "model", "the model type"),
        None if config is None else _quantizer(config),
        () if shapes is None else tuple(shapes_from_text(shapes)),
        ct.PassPipeline.DEFAULT if passes is None else ct.PassPipeline(json.loads(passes), "custom"),
        member(MULTIMETHOD_WEIGHT_SHARING_STRATEGY, strategy, "the strategy of sharing weights"),
    )


def _quantizer(text: str) -> Any:
    config = {"config_type": "OpLinearQuantizerConfig", "global_config": json.loads(text)}
    return coremltools().optimize.coreml.OptimizationConfig.from_dict(config)
