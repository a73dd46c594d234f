# SPDX-License-Identifier: BSD-3-Clause
"""SmolLM2: `SmolLM2Model` is Llama2Model, whose settings choose the layers."""

from sdk.examples.models.llama.model import Llama2Model


class SmolLM2Model(Llama2Model):
    """SmolLM2, with the checkpoint and the parameters of the settings."""
