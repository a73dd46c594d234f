# SPDX-License-Identifier: BSD-3-Clause
"""The names of the recipes."""

from __future__ import annotations

from typing import Final

from sdk.export.recipe import RecipeType

QNN_BACKEND: Final = "qnn"


class QNNRecipeType(RecipeType):
    """Floats, computed as float16, and one for each `QuantDtype` without blocks, whose sizes depend on the model."""

    FP16 = "qnn_fp16"
    A16W16 = "qnn_16a16w"
    A16W8 = "qnn_16a8w"
    A16W4 = "qnn_16a4w"
    A16W2 = "qnn_16a2w"
    A8W8 = "qnn_8a8w"
    A8W4 = "qnn_8a4w"
    FP16A8W = "qnn_fp16a8w"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return QNN_BACKEND
