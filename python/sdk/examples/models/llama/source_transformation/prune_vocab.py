# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the vocabulary; the definitions are those of `sdk.extension.llm.model.prune_vocab`."""

from sdk.extension.llm.model.prune_vocab import prune_input_vocab, prune_output_vocab

__all__ = ["prune_input_vocab", "prune_output_vocab"]
