# SPDX-License-Identifier: BSD-3-Clause
"""Models of the zoo, lowered for Core ML and run by the interpreter, give eager's results in both precisions."""

from __future__ import annotations

import copy
import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from lowering import FP16, FP32, difference, lower
from torch.utils import _pytree as pytree

from zoo.case import CASES, build

for _module in ("control", "function", "in_place", "language", "sequence", "structure", "vision"):
    importlib.import_module(f"zoo.{_module}")

LIMITS = {FP32: 1e-5, FP16: 5e-3}
STATES = {"decoder_kv_cache", "cache"}
"""Core ML's states are float16 in any precision."""

WHOLE = (
    "counter", "scalars", "nested", "constants", "cache", "encoder", "encoder_dynamic_length", "decoder_kv_cache",
    "causal_attention", "mlp", "mlp_dynamic_batch", "lstm", "lstm_bidirectional", "gru", "statistics", "gather",
    "half_precision", "size_from_data", "selected", "named_tuples", "optional_indices", "literals",
    "resnet", "mobilenet", "unet", "convs_1d_2d_3d", "autoencoder", "vit", "encode_and_decode",
)  # fmt: skip
"""Models that are delegated as a whole."""


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@pytest.mark.sampled
@pytest.mark.parametrize("precision", [FP32, FP16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("name", CASES)
def test_the_zoo(name: str, precision: Any) -> None:
    """CML-01, CML-09, CML-11, CML-21: every model of the zoo gives eager's results, in all its calls, with the
    states and at the sizes of its dynamic dimensions."""
    for method_name, method in build(name).methods.items():
        eager = copy.deepcopy(method.module)
        lowered = lower(method.module, method.calls[0], precision, dynamic_shapes=method.dynamic_shapes)
        if name in WHOLE:
            assert not lowered.outside, (method_name, lowered.refusals)
            assert len(lowered.delegates) == 1
        for call in method.calls:
            with torch.no_grad():
                expected = _tensors(eager(*copy.deepcopy(call)))
            limit = LIMITS[FP16] if name in STATES else LIMITS[precision]
            assert difference(_tensors(lowered.run(*copy.deepcopy(call))), expected) <= limit, method_name


def _digest() -> str:
    """The digest of the payload of a model with states."""
    method = build("decoder_kv_cache").methods["forward"]
    lowered = lower(method.module, method.calls[0], FP16)
    return hashlib.sha256(b"".join(module.processed_bytes for module in lowered.delegates.values())).hexdigest()


SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:]
from test_models import _digest
print(_digest())
"""


def test_the_same_bytes_each_time() -> None:
    """Another process, in which sets are iterated in another order, makes the same payload."""
    here = Path(__file__).resolve().parent
    arguments = [sys.executable, "-c", SCRIPT, str(here), str(here.parents[3] / "tests")]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        arguments, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
    )
    assert other.stdout.strip() == _digest()


def test_importing_the_sdk_does_not_import_coremltools() -> None:
    """DINT-06"""
    script = "import sys, sdk, sdk.exir, sdk.backends.registry as r; r.backends(); print('coremltools' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout == "False\n"
    )
