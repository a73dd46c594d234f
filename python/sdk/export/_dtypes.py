# SPDX-License-Identifier: BSD-3-Clause
"""`ExportRecipe.dtype`: the check of a recipe, and captured programs in its dtype."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram

from sdk.exir.float16 import to_float16
from sdk.export.recipe import ExportRecipe


def check_dtype(recipe: ExportRecipe) -> None:
    """Raises ValueError if the recipe's dtype is unknown, or contradicts the rest of the recipe."""
    if recipe.dtype not in (None, torch.float32, torch.float16):
        raise ValueError(f"The recipe's dtype is {recipe.dtype}; expected torch.float16, torch.float32 or None.")
    if recipe.dtype == torch.float16 and recipe.quantization_recipe is not None:
        raise ValueError(
            "The recipe has dtype=torch.float16 and a quantization_recipe, which says itself how weights and "
            "activations are stored. Leave one of them out."
        )


def in_dtype(program: ExportedProgram, dtype: torch.dtype | None) -> ExportedProgram:
    """A captured program, computed in the dtype of a recipe."""
    return to_float16(program) if dtype == torch.float16 else program
