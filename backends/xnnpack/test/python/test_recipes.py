# SPDX-License-Identifier: BSD-3-Clause
"""XNNPACK's recipes: each makes a program that runs, and invalid options are refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sdk.backends.xnnpack.recipes import XNNPackRecipeType
from sdk.export import ExportRecipe
from sdk.export import export as export_by_recipe
from sdk.runtime import Runtime


@pytest.mark.sampled
@pytest.mark.parametrize("kind", XNNPackRecipeType, ids=lambda kind: kind.name)
def test_recipes(kind: XNNPackRecipeType) -> None:
    """EXP-16"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    inputs = (torch.linspace(-2, 2, 64).reshape(1, 64),)
    session = export_by_recipe(model, [inputs], ExportRecipe.get_recipe(kind))
    found = Runtime.get().load_program(session.get_pte_buffer()).load_method("forward").execute(inputs)[0]
    delegates = session.get_executorch_program().execution_plan[0].delegates
    assert [delegate.id for delegate in delegates] == ["XnnpackBackend"]
    wanted = model(*inputs).detach()
    largest = float((torch.as_tensor(found) - wanted).abs().max() / wanted.abs().max())
    # Errors of float16: the input, two layers, their weights and the function between them are rounded by at most 2^-11
    # each.
    floats = {XNNPackRecipeType.FP32: 1e-5, XNNPackRecipeType.FP16: 6 * 2**-11}
    assert largest < floats.get(kind, 0.2 if "INT4" in kind.name else 0.05)


def test_options_of_recipes() -> None:
    grouped = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR
    made = ExportRecipe.get_recipe(grouped, group_size=64).quantization_recipe
    assert made is not None and made.ao_quantization_configs is not None
    assert made.ao_quantization_configs[0].ao_base_config.weight_granularity.group_size == 64
    with pytest.raises(ValueError, match="group_size is 20; expected a multiple of 32"):
        ExportRecipe.get_recipe(grouped, group_size=20)
    with pytest.raises(ValueError, match="xnnpack_fp32 has no option group_size; it has none"):
        ExportRecipe.get_recipe(XNNPackRecipeType.FP32, group_size=32)
