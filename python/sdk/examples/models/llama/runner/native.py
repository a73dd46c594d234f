# SPDX-License-Identifier: BSD-3-Clause
"""Generates text by calls of a program's method `forward`.

python -m sdk.examples.models.llama.runner.native -f model.pte -p params.json -t tokenizer.json -kv --prompt Hello
"""

from __future__ import annotations

import argparse
import json

from torch import Tensor

from sdk.examples.models.llama.export_llama_lib import EXECUTORCH_DEFINED_MODELS, TORCHTUNE_DEFINED_MODELS
from sdk.examples.models.llama.runner.generation import LlamaRunner
from sdk.exir._serialize._regular_file import read_file
from sdk.extension.pybindings.portable_lib import _load_for_executorch


class NativeLlamaRunner(LlamaRunner):
    """Generates text with a program."""

    def __init__(self, args: argparse.Namespace) -> None:
        """`args`: those of `build_args_parser`."""
        validate_args(args)
        super().__init__(
            tokenizer_path=args.tokenizer,
            tokenizer_config_path=args.tokenizer_config,
            max_seq_len=args.max_len,
            max_batch_size=1,
            use_kv_cache=args.kv_cache,
            vocab_size=json.loads(read_file(args.params))["vocab_size"],
        )
        self.model = _load_for_executorch(args.pte)

    def forward(self, tokens: Tensor, input_pos: Tensor | None = None) -> Tensor:
        """The logits of the program."""
        logits: Tensor = self.model.forward((tokens,) if input_pos is None else (tokens, input_pos))[0]
        return logits


def validate_args(args: argparse.Namespace) -> None:
    """Raises TypeError if the arguments do not name the files of a program, its parameters and its tokenizer."""
    for name in ("pte", "params", "tokenizer"):
        if not getattr(args, name):
            raise TypeError(f"--{name} is missing: name the file")


def build_args_parser() -> argparse.ArgumentParser:
    """The arguments of this command."""
    parser = argparse.ArgumentParser(prog="native")
    parser.add_argument("--model", default="llama3", choices=EXECUTORCH_DEFINED_MODELS + TORCHTUNE_DEFINED_MODELS)
    parser.add_argument("-f", "--pte", help="the program")
    parser.add_argument("-p", "--params", help="the JSON file with the hyperparameters")
    parser.add_argument("-t", "--tokenizer", help="the file of the tokenizer")
    parser.add_argument("--tokenizer_config", help="the tokenizer_config.json of a tokenizer.json")
    parser.add_argument("--prompt", default="Hello", help="the text to continue")
    parser.add_argument("--temperature", type=float, default=0.6)
    parser.add_argument("-kv", "--kv_cache", action="store_true", help="the program has a cache")
    parser.add_argument("--max_len", type=int, default=128, help="most tokens of the prompt and its answer")
    return parser


def main() -> None:
    """Prints the text that a program gives, and its tokens."""
    args = build_args_parser().parse_args()
    print(f"tokens: {NativeLlamaRunner(args).text_completion(args.prompt, args.temperature)}")


if __name__ == "__main__":
    main()
