# SPDX-License-Identifier: BSD-3-Clause
"""Phi-4-mini: `Phi4MiniModel` is Llama2Model, whose settings choose the layers."""

from sdk.examples.models.llama.model import Llama2Model


class Phi4MiniModel(Llama2Model):
    """Phi-4-mini, with the checkpoint and the parameters of the settings."""
