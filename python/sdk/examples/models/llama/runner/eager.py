# SPDX-License-Identifier: BSD-3-Clause
"""Generates text with a checkpoint, in PyTorch.

python -m sdk.examples.models.llama.runner.eager -p params.json -c weights.pth -t tokenizer.json -kv --prompt Hello
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

from sdk.examples.models.llama.export_llama_lib import build_args_parser as _exporters_parser
from sdk.examples.models.llama.runner.generation import LlamaRunner
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.exporter import make_model

_NO_LIMIT = 1_000_000


class EagerLlamaRunner(LlamaRunner):
    """Generates text with the eager model, quantised as the settings say."""

    def __init__(
        self, llm_config: LlmConfig, tokenizer_config_path: str | None = None, use_attention_sink: bool = False
    ) -> None:
        """`use_attention_sink`: whether the setting `model.use_attention_sink` must be set. Raises ValueError unless it
        is, and without a tokenizer."""
        if use_attention_sink and not llm_config.model.use_attention_sink:
            raise ValueError("use_attention_sink=True needs the setting model.use_attention_sink=<sinks>,<window>")
        if llm_config.base.tokenizer_path is None:
            raise ValueError("base.tokenizer_path: expected the file of a tokenizer, found nothing")
        self.model = make_model(llm_config)
        super().__init__(
            tokenizer_path=llm_config.base.tokenizer_path,
            tokenizer_config_path=tokenizer_config_path,
            max_seq_len=llm_config.export.max_context_length,
            max_batch_size=1,
            use_kv_cache=llm_config.model.use_kv_cache,
            vocab_size=self.model.params.vocab_size,
        )

    def forward(self, tokens: Tensor, input_pos: Tensor | None = None) -> Tensor:
        """The logits of the model."""
        with torch.no_grad():
            return self.model(tokens, None if input_pos is None else {"input_pos": input_pos})


def build_args_parser() -> argparse.ArgumentParser:
    """Returns a parser for the arguments of `export_llama` and those of a runner."""
    parser = _exporters_parser()
    parser.prog = "eager"
    parser.add_argument("--prompt", default="", help="the text to continue")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--show_tokens", action="store_true", help="print the ids of the tokens")
    parser.add_argument("--chat", action="store_true", help="hold a conversation in the terminal")
    parser.add_argument("--tokenizer_config_path", help="the tokenizer_config.json of a tokenizer.json")
    return parser


def execute_runner(runner_class: type[EagerLlamaRunner]) -> None:
    """Creates a runner, and generates text with the options of the command line."""
    args = build_args_parser().parse_args()
    config = LlmConfig.from_args(args)
    sinks = bool(config.model.use_attention_sink)
    runner = runner_class(llm_config=config, tokenizer_config_path=args.tokenizer_config_path, use_attention_sink=sinks)
    if args.chat:
        length = _NO_LIMIT if sinks else runner.max_seq_len
        tokens = runner.chat_completion(length, args.temperature, show_progress=args.show_tokens)
    else:
        tokens = runner.text_completion(args.prompt, args.temperature, echo=True)
    if args.show_tokens:
        print(f"{len(tokens)} tokens: {tokens}")


def main() -> None:
    """Runs `EagerLlamaRunner`."""
    execute_runner(EagerLlamaRunner)


if __name__ == "__main__":
    main()
