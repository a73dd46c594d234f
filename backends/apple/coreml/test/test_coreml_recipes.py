# SPDX-License-Identifier: BSD-3-Clause
"""The recipes for Core ML."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lowering import Lowered, ct, difference

from sdk.backends.apple.coreml.recipes import CoreMLRecipeProvider, CoreMLRecipeType
from sdk.export import ExportRecipe, export
from sdk.export.target_recipes import get_ios_recipe, targets

OPTIONS: dict[CoreMLRecipeType, dict[str, Any]] = {
    CoreMLRecipeType.CODEBOOK_WEIGHT_ONLY: {"bits": 4, "block_size": [-1, 16]},
    CoreMLRecipeType.TORCHAO_INT8_WEIGHT_ONLY_PER_GROUP: {"group_size": 16},
}
COMPRESSION = {"coreml_fp": None, "codebook": "constexpr_lut_to_dense", "per_group": "constexpr_blockwise_shift_scale"}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(32, 64)
        self.hidden = torch.nn.Linear(64, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.hidden(self.embedding(tokens)))


@pytest.mark.parametrize("kind", CoreMLRecipeType, ids=lambda kind: kind.value)
def test_every_recipe(kind: CoreMLRecipeType) -> None:
    """CML-09, CML-16, CML-17: the model is one delegate with the recipe's precision, scheme and deployment target. It
    gives eager's results within the tolerance of the scheme."""
    torch.manual_seed(0)
    model, tokens = Model().eval(), torch.randint(0, 32, (2, 5))
    expected = model(tokens)
    session = export(model, [(tokens,)], ExportRecipe.get_recipe(kind, **OPTIONS.get(kind, {})))
    lowered = Lowered(session.get_edge_program_manager())
    assert not lowered.outside, lowered.refusals
    (program,) = lowered.programs.values()
    quantised = kind not in (CoreMLRecipeType.FP16, CoreMLRecipeType.FP32)
    target = "iOS18" if "int4" in kind.value or "group" in kind.value or "codebook" in kind.value else "iOS16"
    target = "iOS17" if "pt2e" in kind.value else target
    if quantised:
        assert program.model.spec.specificationVersion == ct.target[target].value
        assert any(name.startswith("constexpr") for name in lowered.operations)
    limit = 0.3 if "int4" in kind.value or "codebook" in kind.value else 0.05
    found = difference(lowered.run(tokens), expected)
    assert found < (limit if quantised else 5e-3 if kind is CoreMLRecipeType.FP16 else 1e-5)
    assert (found > 1e-5) == (kind is not CoreMLRecipeType.FP32)


def test_the_recipes_for_phones() -> None:
    """RCP-07: `get_ios_recipe` returns Core ML's recipes; the default is float16."""
    assert set(targets("ios")) >= {"ios-arm64-coreml-fp32", "ios-arm64-coreml-fp16", "ios-arm64-coreml-int8"}
    model, tokens = Model().eval(), torch.randint(0, 32, (2, 5))
    session = export(model, [(tokens,)], get_ios_recipe(compute_unit=ct.ComputeUnit.CPU_ONLY))
    assert not Lowered(session.get_edge_program_manager()).outside


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("FP16", {"group_size": 3}, "coreml_fp16 has no option group_size; it has compute_unit, minimum_deployment"),
        ("PT2E_INT8_STATIC", {"minimum_deployment_target": ct.target.iOS16}, "is iOS16; coreml_pt2e.* needs iOS17"),
        ("TORCHAO_INT4_WEIGHT_ONLY_PER_GROUP", {"group_size": 0}, "group_size is 0; expected a positive"),
        ("CODEBOOK_WEIGHT_ONLY", {"bits": 3}, "need the parameters 'bits'.*'block_size'"),
        ("CODEBOOK_WEIGHT_ONLY", {"bits": 9, "block_size": [1, -1]}, "bits is 9"),
        ("CODEBOOK_WEIGHT_ONLY", {"bits": 3, "block_size": 16}, "block_size is 16; expected a list"),
        ("FP32", {"compute_unit": "CPU"}, "is not a coremltools.ComputeUnit"),
        ("FP32", {"minimum_deployment_target": 17}, "is not a coremltools.target"),
    ],
)
def test_wrong_options(kind: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ExportRecipe.get_recipe(CoreMLRecipeType[kind], **options)


def test_recipes_of_other_backends_are_not_made() -> None:
    from sdk.backends.xnnpack.recipes import XNNPackRecipeType

    assert CoreMLRecipeProvider().create_recipe(XNNPackRecipeType.FP32) is None
    assert len(CoreMLRecipeProvider().get_supported_recipes()) == 9
