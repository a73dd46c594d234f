# SPDX-License-Identifier: BSD-3-Clause
"""Qwen2.5: `Qwen2_5Model` is Llama2Model, whose settings choose the layers."""

from sdk.examples.models.llama.model import Llama2Model


class Qwen2_5Model(Llama2Model):  # noqa: N801 - the name in ExecuTorch
    """Qwen2.5, with the checkpoint and the parameters of the settings."""
