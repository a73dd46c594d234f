# SPDX-License-Identifier: BSD-3-Clause
"""Programs in 16-bit floats: their logits equal those of eager mode in the same dtype."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from language_models import ARCHITECTURES, both, small
from test_checkpoints import saved, write_gguf

from declared import default
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.settings import read_settings
from sdk.runtime import Runtime

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
CACHED = ["model.use_kv_cache=true", "export.max_seq_length=16", "export.max_context_length=40"]
ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""The rounding error of a number near 1: half a unit in the last place."""


def check(settings: list[str], dtype: torch.dtype, folder: Path, factor: float = 8) -> Path:
    """Exports, and compares the logits of a prompt and of three more tokens.

    They may differ by `factor` roundings of the largest logit: sums of two implementations round differently in each
    layer.
    """
    written = export(None, [*settings, f"export.output_dir={folder}"])
    method = Runtime.get().load_program(written).load_method("forward")
    model = make_model(read_settings(None, settings))
    calls = [([5, 17, 80, 3], 0), ([9], 4), ([61, 2], 5)]
    with torch.no_grad():
        for tokens, position in calls:
            inputs = torch.tensor([tokens]), torch.tensor([position])
            expected = model(inputs[0], {"input_pos": inputs[1]})
            (found,) = method.execute(list(inputs))
            assert found.dtype == expected.dtype == dtype
            error = float((found.float() - expected.float()).abs().max() / expected.float().abs().max())
            assert error < factor * ROUNDING[dtype], error
    return Path(written)


@pytest.mark.sampled
@pytest.mark.parametrize("attention", ["parts", "operator", "int8 cache", "windows"])
@pytest.mark.parametrize("backend", ["none", "default"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_logits_are_those_of_eager_in_the_same_dtype(dtype: str, backend: str, attention: str, tmp_path: Path):
    theirs, _ = both("llama3")
    settings = [f"base.checkpoint={saved(theirs, tmp_path)}", *CACHED, f"model.dtype_override={dtype}"]
    if attention != "parts":
        settings.append("model.use_sdpa_with_kv_cache=true")
    settings += {"int8 cache": ["model.quantize_kv_cache=true"], "windows": ["model.local_global_attention=[8,0]"]}.get(
        attention, []
    )
    if backend == "default":
        settings += [f"backend.{default().name}.enabled=true"]
    check(settings, DTYPES[dtype], tmp_path, factor=24 if attention == "int8 cache" else 8)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["lfm2", "gemma3", "qwen3", "phi3"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_kinds_of_layers(dtype: str, name: str, tmp_path: Path):
    theirs, _ = both(name)
    check(
        [f"base.checkpoint={saved(theirs, tmp_path)}", *CACHED, f"model.dtype_override={dtype}"],
        DTYPES[dtype],
        tmp_path,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantised_weights(dtype: str, tmp_path: Path):
    """Quantised weights of GGUF files and of torchao's kernels are multiplied in float32, and results are rounded."""
    path = write_gguf(tmp_path / "model.gguf", small(**ARCHITECTURES["llama"]), "llama", "Q4_1")
    check([f"base.checkpoint={path}", *CACHED, f"model.dtype_override={dtype}"], DTYPES[dtype], tmp_path, factor=24)


@pytest.mark.parametrize("dtype", DTYPES)
def test_programs_have_half_the_size(dtype: str, tmp_path: Path):
    theirs, _ = both("llama")
    settings = [f"base.checkpoint={saved(theirs, tmp_path)}", *CACHED, f"export.output_dir={tmp_path}"]
    weights = sum(weight.numel() for weight in theirs.parameters())
    size = Path(export(None, [*settings, f"model.dtype_override={dtype}"])).stat().st_size
    assert 2 * weights < size < 3 * weights  # with the instructions; float32 would be 4
