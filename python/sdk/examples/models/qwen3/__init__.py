# SPDX-License-Identifier: BSD-3-Clause
"""Qwen3: `Qwen3Model` is Llama2Model, whose settings choose the layers."""

from sdk.examples.models.llama.model import Llama2Model


class Qwen3Model(Llama2Model):
    """Qwen3, with the checkpoint and the parameters of the settings."""
