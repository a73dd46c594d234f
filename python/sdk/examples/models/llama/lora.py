# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers with low-rank adapters; the definitions are those of `sdk.extension.llm.model.lora`."""

from sdk.extension.llm.model.lora import LoRALinear, lora_call

__all__ = ["LoRALinear", "lora_call"]
