# SPDX-License-Identifier: BSD-3-Clause
"""The shape of a decoder; the definitions are those of `sdk.extension.llm.model.model_args`."""

from sdk.extension.llm.model.model_args import ActFn, ModelArgs, MoEScoreFunc

__all__ = ["ActFn", "MoEScoreFunc", "ModelArgs"]
