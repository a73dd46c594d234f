# SPDX-License-Identifier: BSD-3-Clause
"""The original reads our payloads, and has the operators of our registry."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import lowered
from reference import payloads
from test_operators import CALLS, Calls

from interop.originals import InOriginal, in_the_implemented_release
from sdk.backends.vulkan.op_registry import vulkan_supported_ops
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import read_vulkan_graph

pytestmark = [pytest.mark.oracle, pytest.mark.network]

Original = Callable[[str, Path], None]


@pytest.fixture
def original(in_original: InOriginal) -> Original:
    return lambda command, directory: in_original(Path(__file__).with_name("original_vulkan.py"), command, directory)


class Block(nn.Module):
    """Convolutions with batch norms and clamps, a pool and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.depthwise(self.first(x) * 2)
        return torch.softmax(self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


MODELS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "block": (Block(), (torch.randn(1, 3, 9, 9),)),
    "mlp": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)), (torch.randn(3, 8),)),
    **{f"op{n}": (Calls(function), inputs) for n, (_, function, inputs) in enumerate(CALLS) if n % 12 == 0},
}


def _has_infinity(payload: bytes) -> bool:
    values = (v.value for v in read_vulkan_graph(payload)[0].values)
    return any(isinstance(value, lowered.schema.Double) and math.isinf(value.double_val) for value in values)


def test_the_original_reads_ours(original: Original, tmp_path: Path) -> None:
    """VK-01: payloads made with compat="1.4" have its schema, and call operators that it has."""
    expected: dict[str, Any] = {}
    for name, (model, inputs) in MODELS.items():
        program = lowered.lower(model, inputs, compile_options={"compat": "1.4"})
        for number, (payload, _) in enumerate(payloads(program)):
            if _has_infinity(payload):
                continue  # the original's reader converts to JSON, which has no infinity
            (tmp_path / f"{name}.{number}.payload").write_bytes(payload)
            expected[f"{name}.{number}"] = payload
    original("read", tmp_path)
    original("registry", tmp_path)
    known = json.loads((tmp_path / "registry.json").read_text())
    assert len(expected) > 8
    for name, payload in expected.items():
        found = json.loads((tmp_path / f"{name}.json").read_text())
        graph, _ = read_vulkan_graph(payload)
        assert [type(v.value).__name__ for v in graph.values] == [kind for kind, _ in found["values"]]
        assert [call.args for call in graph.chain] == [call["args"] for call in found["chain"]]
        assert graph.output_ids == found["outputs"]
        for call in found["chain"]:
            assert call["name"] == "et_vk.prepack.default" or call["name"] in known


@in_the_implemented_release
def test_our_registry_is_the_originals(original: Original, tmp_path: Path) -> None:
    """VK-04: our registry has every operator of the original's, with the same storages, dtypes and abilities."""
    original("registry", tmp_path)
    theirs = json.loads((tmp_path / "registry.json").read_text())
    ours = {name: f for name, f in vulkan_supported_ops.items() if not f.ours}
    aliases = {"sym_size": "sym_size.int"}
    differences = []
    for name, row in theirs.items():
        name = aliases.get(name, name)
        full = name if name in ours else f"{name}.default"
        if full not in ours:
            differences.append(f"{name} is missing")
            continue
        features = ours[full]
        inputs, outputs = features.inputs_storage, features.outputs_storage
        listed = [inputs] if isinstance(inputs, frozenset) else list(inputs)
        found = {
            "inputs": [sorted(f"{s} {int(m)}" for s, m in reprs or ()) for reprs in listed],
            "resize": features.supports_resize,
            "highdim": features.supports_highdim,
            "prepacking": features.supports_prepacking,
            "picks": features.pick_storage is not None,
        }
        if outputs is not None:
            listed = [outputs] if isinstance(outputs, frozenset) else list(outputs)
            found["outputs"] = [sorted(f"{s} {int(m)}" for s, m in reprs) for reprs in listed]
        if features.inputs_dtypes:
            dtypes = features.inputs_dtypes
            listed = [dtypes] if isinstance(dtypes, frozenset) else list(dtypes)
            found["input_dtypes"] = [sorted(map(str, d)) for d in listed]
            # The original lists the types of the first input only, or all types there are.
            if full.startswith("et_vk.") or full == "aten._weight_int8pack_mm.default":
                assert set(found.pop("input_dtypes")[0]) <= set(row["input_dtypes"][0]), full
            elif full == "aten.index.Tensor":  # here also of booleans
                assert set(found.pop("input_dtypes")[0]) > set(row["input_dtypes"][0])
        differences += [f"{name}: {key} {found[key]} {row[key]}" for key in found if found[key] != row[key]]
    assert differences == []


SCHEMAS = """
import json, torch, {package}.backends.vulkan.custom_ops_lib
print(json.dumps(sorted(str(s) for s in torch._C._jit_get_all_schemas() if s.name.startswith("et_vk::"))))
"""
TRAINING = {"adamw_step", "fused_ce", "linear_dW", "linear_q4gsw_backward", "q4gsw_requant"}
"""The original's operators that train on a GPU, which are not registered here. The runtime has only `linear_dW`."""


def test_custom_operators_have_the_original_s_schemas(in_original: InOriginal) -> None:
    """The schemas of custom operators, with their out variants, equal the original's."""
    theirs = set(json.loads(in_original("-c", SCHEMAS.format(package="executorch")).splitlines()[-1]))
    ours = {str(each) for each in torch._C._jit_get_all_schemas() if each.name.startswith("et_vk::")}
    missing = {each.partition("(")[0].removeprefix("et_vk::") for each in theirs - ours}
    assert missing == TRAINING
