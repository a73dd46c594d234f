# SPDX-License-Identifier: BSD-3-Clause
"""Calls of a model with static attention: its caches, masks and positions, greedy decoding, look-ahead decoding."""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.rope import Rope
from sdk.extension.llm.model.static_attention import StaticAttention
from sdk.extension.llm.model.static_cache import StaticAttentionMask, StaticKVCache

Model = Callable[..., Any]
"""Takes int32 [1, tokens] and a dictionary of options. Returns logits and a dictionary with `out_cache_state`."""


class _NGrams:
    """The last `max_size` different sequences of tokens that followed a token."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.cache: deque[list[int]] = deque()

    def add(self, x: list[int]) -> None:
        """Adds a sequence, which replaces the oldest one if there is no room."""
        if x in self.cache:
            return
        if len(self.cache) == self.max_size:
            self.cache.popleft()
        self.cache.append(x)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.cache)


class StaticAttentionIOManager:
    """Keeps the caches of a model with static attention between its calls, which take `input_len` tokens each."""

    NGramCache = _NGrams

    def __init__(
        self,
        config_or_model: ModelArgs | nn.Module,
        input_len: int,
        cache_lens: int | list[int],
        batch_size: int = 1,
        dtype: torch.dtype = torch.float32,
        style: str = "shift_pointer",
        mask_val: float = float("-inf"),
    ) -> None:
        """`cache_lens`: the length of all caches, or one length for each layer. `style`, `mask_val`: as in
        `StaticAttentionMask`. `config_or_model`: the model, which returns logits of all tokens, or its
        hyperparameters, whose `generate_full_logits` then says whether the model does.

        Raises ValueError for a model without static attention.
        """
        lengths = [cache_lens] if isinstance(cache_lens, int) else cache_lens
        self._masks = {
            length: StaticAttentionMask(input_len, length, style, mask_val, dtype) for length in set(lengths)
        }
        self.k_caches: dict[str, Tensor] = {}
        self.v_caches: dict[str, Tensor] = {}
        config, layers = _layers_of(config_or_model)
        for layer_id, heads, shape in layers:
            places = cache_lens if isinstance(cache_lens, int) else cache_lens[layer_id]
            for head in range(heads) if places else ():
                key = StaticKVCache.calculate_cache_key(layer_id, head)
                if key in self.k_caches:
                    raise ValueError(f"two layers have layer_id={layer_id}")
                for caches in (self.k_caches, self.v_caches):
                    caches[key] = torch.zeros(batch_size, *shape[:-1], places, shape[-1], dtype=dtype)
        tables = Rope(config).get_freqs_using_indices(torch.arange(config.max_context_len))
        self.freqs_cos, self.freqs_sin = (table.to(dtype) for table in tables)
        self.generate_full_logits = config.generate_full_logits or not isinstance(config_or_model, ModelArgs)
        self.input_len, self.style, self.mask_val = input_len, style, mask_val
        self.pos = 0

    @property
    def masks(self) -> dict[int, Tensor]:
        """The masks by the length of the caches that they are for."""
        return {length: mask.tensor for length, mask in self._masks.items()}

    def reset(self) -> None:
        """Begins another sequence."""
        self.pos = 0
        for mask in self._masks.values():
            mask.reset()

    def prefill(self, model: Model, tokens: list[int] | Tensor) -> Tensor:
        """Gives a text to the model. Returns the logits of all tokens, or of the last one, as the model does."""
        self._see(self._causal())
        rows = torch.tensor([tokens], dtype=torch.int32) if isinstance(tokens, list) else tokens
        found = [self._run_once(model, part)[0] for part in rows.split(self.input_len, dim=1)]
        return torch.cat(found, dim=1)[:, : rows.shape[1]] if self.generate_full_logits else found[-1]

    def decode(self, model: Model, init_token: int, n: int, stop_tokens: list[int] | None = None) -> list[int]:
        """Returns `init_token` and the likeliest tokens after it: `n`, or fewer if one of `stop_tokens` comes."""
        self._see(self._causal())
        tokens = [init_token]
        while len(tokens) <= n and (len(tokens) == 1 or tokens[-1] not in (stop_tokens or [])):
            logits = self._run_once(model, tokens[-1:])[0]
            tokens.append(int((logits[:, :1] if self.generate_full_logits else logits).argmax()))
        return tokens

    def lookahead_decode(
        self,
        model: Model,
        init_token: int,
        n: int,
        ngram_size: int,
        window_size: int,
        n_verifications: int,
        stop_tokens: list[int] | None = None,
        ngram_caches: dict[int, _NGrams] | None = None,
    ) -> list[int]:
        """Generates the tokens of `decode` in fewer calls, by look-ahead decoding (Fu et al., 2024).

        A call guesses `window_size` sequences of `ngram_size` tokens and checks `n_verifications` earlier ones, which
        `ngram_caches` keeps by their first token. Raises ValueError for less than one sequence of either kind or of two
        tokens, and RuntimeError where `input_len` has no room for these, and for a model that does not return the
        logits of all tokens.
        """
        if ngram_size < 2 or window_size < 1 or n_verifications < 1:
            raise ValueError(
                "look-ahead decoding needs an ngram_size of at least 2, and a window_size and n_verifications of at "
                f"least 1; found {ngram_size}, {window_size} and {n_verifications}. decode() needs none of them"
            )
        steps = ngram_size - 1
        if steps * (window_size + n_verifications) > self.input_len or not self.generate_full_logits:
            raise RuntimeError(
                f"look-ahead decoding needs logits of all tokens, and input_len of at least (ngram_size - 1) * "
                f"(window_size + n_verifications) = {steps * (window_size + n_verifications)}, found {self.input_len}"
            )
        known = defaultdict(lambda: _NGrams(n_verifications)) if ngram_caches is None else ngram_caches
        self._see(self._lookahead_mask(ngram_size, window_size, n_verifications))
        offsets = self._lookahead_offsets(ngram_size, window_size, n_verifications)
        checks = window_size * steps
        stops, tokens, x = set(stop_tokens or []), [init_token], [init_token] * self.input_len
        while len(tokens) <= n and (len(tokens) == 1 or tokens[-1] not in stops):
            for i, guess in enumerate(known[x[0]]):
                x[checks + i * steps : checks + (i + 1) * steps] = guess
            where = offsets + self.pos
            logits, updates = self._run_once(model, x, 1, self.freqs_cos[where], self.freqs_sin[where])
            y = logits[0].argmax(dim=-1).tolist()
            tokens.append(y[0])
            for column in range(window_size):
                guess = [x[column + row * window_size] for row in range(1, steps)]
                known[x[column]].add([*guess, y[column + window_size * (steps - 1)]])
            if tokens[-1] not in stops:
                branch, more = self._longest(x, y, checks, steps, n_verifications)
                more = more[: n + 1 - len(tokens)]
                ends = [place for place, token in enumerate(more) if token in stops]
                more = more[: ends[0] + 1] if ends else more
                if more:
                    tokens += more
                    self._update_states(updates, checks + branch * steps, len(more))
            for row in range(steps - 1):
                x[row * window_size : (row + 1) * window_size] = x[(row + 1) * window_size : (row + 2) * window_size]
            last = slice((steps - 1) * window_size, steps * window_size)
            x[last] = y[last]
            x[0] = tokens[-1]
        return tokens

    @staticmethod
    def _longest(x: list[int], y: list[int], checks: int, steps: int, count: int) -> tuple[int, list[int]]:
        """The index of the guess with the longest prefix that the model confirms, and the model's tokens along it."""
        best: tuple[int, list[int]] = (0, [])
        for branch in range(count):
            first, found = checks + branch * steps, [y[0]]
            while len(found) <= steps and x[first + len(found) - 1] == found[-1]:
                found.append(y[first + len(found) - 1])
            if len(found) - 1 > len(best[1]):
                best = branch, found[1:]
        return best

    def _causal(self) -> Tensor:
        return torch.full((self.input_len, self.input_len), self.mask_val).triu(1)

    def _see(self, input_mask: Tensor) -> None:
        for mask in self._masks.values():
            mask.set_input_mask(input_mask)

    def _run_once(
        self,
        model: Model,
        tokens: list[int] | Tensor,
        non_padded_len: int | None = None,
        freqs_cos_override: Tensor | None = None,
        freqs_sin_override: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Calls the model with up to `input_len` tokens. Puts the first `non_padded_len`, or all if it is None, into
        the caches."""
        rows = torch.tensor([tokens], dtype=torch.int32) if isinstance(tokens, list) else tokens
        count = rows.shape[1]
        here = slice(self.pos, self.pos + self.input_len)
        options: dict[str, Any] = {
            "masks": self.masks,
            "freqs_cos_override": self.freqs_cos[here] if freqs_cos_override is None else freqs_cos_override,
            "freqs_sin_override": self.freqs_sin[here] if freqs_sin_override is None else freqs_sin_override,
            "in_cache_state": (self.k_caches, self.v_caches),
        }
        if not self.generate_full_logits:
            options["last_valid_token_pos"] = torch.tensor([count - 1])
        logits, updates = model(F.pad(rows, (0, self.input_len - count)), options)
        self._update_states(updates, 0, count if non_padded_len is None else non_padded_len)
        return logits, updates

    def _update_states(self, attn_updates: dict[str, Any], update_pos: int, update_len: int) -> None:
        state = attn_updates["out_cache_state"]
        if state is not None:
            for mask in self._masks.values():
                mask.unmask(update_len)
            for caches, new in zip((self.k_caches, self.v_caches), state, strict=True):
                for key, update in new.items():
                    caches[key] = StaticKVCache.apply_update(
                        caches[key], update, self.pos, self.style, update_pos=update_pos, update_len=update_len
                    ).detach()
        self.pos += update_len

    def _lookahead_mask(self, ngram_size: int, window_size: int, n_verifications: int) -> Tensor:
        """A token in row r of the window sees the first row up to its column, and the rows between at its column. A
        token of a guess sees the first token and the guess up to itself."""
        seen = torch.zeros(self.input_len, self.input_len, dtype=torch.bool)
        seen[0, 0] = True
        for row in range(ngram_size - 1):
            for column in range(window_size):
                place = row * window_size + column
                seen[place, : column + 1] = True
                seen[place, [between * window_size + column for between in range(1, row + 1)]] = True
        first = max(window_size * (ngram_size - 1), 1)
        for start in range(first, first + n_verifications * (ngram_size - 1), ngram_size - 1):
            end = start + ngram_size - 1
            seen[start:end, start:end] = torch.ones(ngram_size - 1, ngram_size - 1).tril().bool()
        seen[first:, 0] = True
        return torch.where(seen, 0.0, self.mask_val)

    def _lookahead_offsets(self, ngram_size: int, window_size: int, n_verifications: int) -> Tensor:
        """Returns the distance of each token of a call from the first one: int64 [input_len]."""
        window = [row + column for row in range(ngram_size - 1) for column in range(window_size)] or [0]
        guesses = list(range(1, ngram_size)) * n_verifications
        found = [*window, *guesses]
        return torch.tensor(found + [0] * (self.input_len - len(found)))


def _layers_of(config_or_model: ModelArgs | nn.Module) -> tuple[ModelArgs, list[tuple[int, int, tuple[int, ...]]]]:
    """The hyperparameters, and for each layer its number, the number of its caches, and the shape of a cache without
    the dimension of tokens."""
    if isinstance(config_or_model, ModelArgs):
        config = config_or_model
        assert config.n_kv_heads is not None and config.head_dim is not None
        heads = config.n_kv_heads
        single = config.attention_type.lower() != "static_mha"
        count, shape = (heads, (config.head_dim,)) if single else (1, (heads, config.head_dim))
        return config, [(layer_id, count, shape) for layer_id in range(config.n_layers)]
    layers = [module for module in config_or_model.modules() if isinstance(module, StaticAttention)]
    if not layers:
        raise ValueError("the model has no StaticAttention: use transform_attention_mha_to_static_attention")
    config = copy.copy(layers[0].rope.config)
    config.use_hf_rope = layers[0].rope.use_hf_rope
    shapes = [(layer.head_dim,) if layer.split_mha else (layer.n_kv_heads, layer.head_dim) for layer in layers]
    return config, [(layer.layer_id, len(layer.k_caches), shape) for layer, shape in zip(layers, shapes, strict=True)]
