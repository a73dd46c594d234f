# SPDX-License-Identifier: BSD-3-Clause
"""Modules of one or two operators."""

from sdk.examples.models.toy_model.model import (
    AddModule,
    AddMulModule,
    Conv1dModule,
    LinearModule,
    MulModule,
    SdpaModule,
    SoftmaxModule,
)

__all__ = ["AddModule", "AddMulModule", "Conv1dModule", "LinearModule", "MulModule", "SdpaModule", "SoftmaxModule"]
