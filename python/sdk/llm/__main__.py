# SPDX-License-Identifier: BSD-3-Clause
"""Make a program of a language model, and talk to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sdk.command.subcommands import run_subcommand

_COMMANDS = {
    "export": "turn a checkpoint (GGUF, or a folder of Hugging Face's form) into a program",
    "run": "complete a prompt, or answer it",
    "chat": "talk to a model",
    "bench": "measure how fast it reads a prompt and generates tokens",
    "eval": "perplexity of a text",
    "embedder": "turn a model of embeddings (a folder of Hugging Face's form) into a program",
    "embed": "vectors of texts",
    "adapter": "turn a LoRA adapter into a file that a program loads",
}


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.llm") -> int:
    """Runs one command; returns the exit status."""
    return run_subcommand("sdk.llm", __doc__ or "", _COMMANDS, argv, prog)


if __name__ == "__main__":
    sys.exit(main())
