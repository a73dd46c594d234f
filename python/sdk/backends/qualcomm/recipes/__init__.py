# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of QNN."""

from __future__ import annotations

from sdk.backends.qualcomm.recipes.qnn_recipe_provider import QNNRecipeProvider
from sdk.backends.qualcomm.recipes.qnn_recipe_types import QNN_BACKEND, QNNRecipeType

__all__ = ["QNN_BACKEND", "QNNRecipeProvider", "QNNRecipeType"]
