# SPDX-License-Identifier: BSD-3-Clause
"""MobileBERT: a vector for each token of a text."""

from __future__ import annotations

import torch
from torch import nn

from sdk.examples.models.model_base import EagerModelBase

CHECKPOINT = "google/mobilebert-uncased"


class MobileBertModelExample(EagerModelBase):
    """MobileBERT of Hugging Face, whose weights and tokenizer are downloaded."""

    def __init__(self) -> None:
        super().__init__()

    def get_eager_model(self) -> nn.Module:
        """The module; it returns a tuple."""
        from transformers import MobileBertModel

        model: nn.Module = MobileBertModel.from_pretrained(CHECKPOINT, return_dict=False)
        return model

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """The tokens of a sentence, int64 [1, tokens]."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
        return (tokenizer("A short sentence", return_tensors="pt")["input_ids"],)
