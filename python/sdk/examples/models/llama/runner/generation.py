# SPDX-License-Identifier: BSD-3-Clause
"""Generating text by calls of a model."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sdk.extension.llm.tokenizers import get_tokenizer

_TURN = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nYou are a helpful assistant<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\n{prompt}<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
)
"""A turn in the form of Llama 3."""


def sample_top_p(probs: Tensor, p: float) -> Tensor:
    """Samples from the likeliest tokens whose probabilities add up to `p`. `probs` is [..., vocabulary]; the result is
    int64 [..., 1]."""
    likeliest, tokens = torch.sort(probs, dim=-1, descending=True)
    before = likeliest.cumsum(dim=-1) - likeliest
    kept = likeliest.masked_fill(before > p, 0.0)
    return tokens.gather(-1, torch.multinomial(kept, num_samples=1))


def next_token(logits: Tensor, temperature: float, top_p: float) -> int:
    """Chooses a token by its logits [1, vocabulary]: the likeliest if the temperature is 0, otherwise a sampled one."""
    if temperature == 0:
        return int(logits.argmax(dim=-1))
    return int(sample_top_p(torch.softmax(logits / temperature, dim=-1), top_p))


class LlamaRunner(ABC):
    """Generates text with `forward`, which subclasses define, and prints it as it is generated."""

    def __init__(
        self,
        *,
        tokenizer_path: str,
        tokenizer_config_path: str | None = None,
        max_seq_len: int,
        max_batch_size: int,
        use_kv_cache: bool,
        vocab_size: int,
        device: str = "cpu",
    ) -> None:
        """`max_seq_len`: the largest number of tokens of a prompt and its answer."""
        self.max_seq_len, self.max_batch_size = max_seq_len, max_batch_size
        self.use_kv_cache, self.device = use_kv_cache, device
        self.tokenizer = get_tokenizer(tokenizer_path, tokenizer_config_path)
        if vocab_size != self.tokenizer.n_words:
            print(f"the model has {vocab_size} tokens, and the tokenizer {self.tokenizer.n_words}")

    @abstractmethod
    def forward(self, tokens: Tensor, input_pos: Tensor | None = None) -> Tensor:
        """Returns the logits of int64 [1, tokens]. `input_pos` is the position of the first token, int64 [1], or None
        without a cache. The result has the logits of the last token, [1, vocabulary], or of all, [1, tokens,
        vocabulary]."""
        raise NotImplementedError

    def generate(
        self,
        prompt_tokens: list[int],
        max_seq_len: int,
        temperature: float = 0.8,
        top_p: float = 0.9,
        echo: bool = False,
        pos_base: int = 0,
    ) -> list[int]:
        """The tokens that follow a prompt, until one ends the text or prompt and answer have `max_seq_len` tokens.

        `echo`: the prompt comes first. `pos_base`: the position of the prompt's first token.
        """
        began = time.perf_counter()
        tokens = list(prompt_tokens)
        fed = 0
        while True:
            new = tokens[fed:] if self.use_kv_cache else tokens
            logits = self._last_logits(new, pos_base + fed if self.use_kv_cache else None)
            fed = len(tokens)
            token = next_token(logits, temperature, top_p)
            tokens.append(token)
            if token in self._ends():
                break
            print(self.tokenizer.decode_token(token), end="", flush=True)
            if len(tokens) >= max_seq_len:
                break
        count = len(tokens) - len(prompt_tokens)
        print(f"\n{count} tokens, {count / (time.perf_counter() - began):.1f} a second")
        return tokens if echo else tokens[len(prompt_tokens) :]

    def _last_logits(self, tokens: list[int], position: int | None) -> Tensor:
        where = None if position is None else torch.tensor([position], device=self.device)
        logits = self.forward(torch.tensor([tokens], device=self.device), where)
        return logits if logits.dim() == 2 else logits[:, -1]

    def _ends(self) -> set[int | None]:
        return {self.tokenizer.eos_id, *getattr(self.tokenizer, "stop_tokens", ())}

    def text_completion(
        self, prompt: str, temperature: float = 0.6, top_p: float = 0.9, echo: bool = False
    ) -> list[int]:
        """The tokens that continue a text."""
        tokens = self.tokenizer.encode(prompt, bos=True, eos=False)
        return self.generate(tokens, self.max_seq_len, temperature, top_p, echo)

    def chat_completion(
        self, max_seq_len: int, temperature: float = 0.6, top_p: float = 0.9, show_progress: bool = False
    ) -> list[int]:
        """Holds a conversation in the terminal until an empty line or "exit" is typed. Returns all its tokens.

        `max_seq_len`: the largest number of tokens of a turn and its answer.
        """
        tokens: list[int] = []
        unfed: list[int] = []
        while (prompt := input("Me: ")) not in ("", "exit"):
            print("LLM: ", end="", flush=True)
            turn = self.tokenizer.encode(_TURN.format(prompt=prompt), bos=True, eos=False)
            answer = self.generate(unfed + turn, max_seq_len, temperature, top_p, pos_base=len(tokens) - len(unfed))
            unfed = answer[-1:]  # the model has not seen it yet
            tokens += turn + answer
            if show_progress:
                print(f"{len(tokens)} tokens so far")
        return tokens
