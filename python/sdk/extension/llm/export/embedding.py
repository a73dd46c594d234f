# SPDX-License-Identifier: BSD-3-Clause
"""Makes programs for `TextEmbedder`, which turn texts into vectors, from folders in Hugging Face's layout.

A folder of sentence-transformers says in `modules.json` how the vectors of tokens become the vector of a text: by
pooling, dense layers and normalisation, all of which are part of the program. The methods of a program:

    embed              takes tokens, int64 [1, n], and returns a vector, float32 [1, dim]
    get_max_seq_len    returns the largest n
    get_prefix_tokens  returns the tokens that the model's tokenizer adds before a text
    get_suffix_tokens  returns the tokens that it adds after a text

A program lacks `get_prefix_tokens` or `get_suffix_tokens` if there are no such tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

from sdk.backends.registry import Backend
from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._regular_file import JSONFileError, read_json
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.pooling_modes import POOLINGS
from sdk.extension.llm.export.pretrained import pretrained_model
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer.data import tokenizer_data

_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "last",
}
"""Entries of a `config.json` of sentence-transformers, in the order of their results."""
_NAMES = {"lasttoken": "last", "mean_sqrt_len_tokens": "mean_sqrt_len"}
_ACTIVATIONS = {"Identity": nn.Identity, "Tanh": nn.Tanh, "ReLU": nn.ReLU, "GELU": nn.GELU, "SiLU": nn.SiLU}


class Pooling(nn.Module):
    """Pools the vectors of tokens into one."""

    def __init__(self, modes: list[str]) -> None:
        """`modes`: names of POOLINGS; the results of several modes are concatenated."""
        super().__init__()
        self.modes = modes

    def forward(self, x: Tensor) -> Tensor:
        """Takes [1, tokens, dim] and returns [1, dim]."""
        return torch.cat([self._pooled(mode, x) for mode in self.modes], dim=-1)

    def _pooled(self, mode: str, x: Tensor) -> Tensor:
        count = x.shape[1]
        if mode == "cls":
            return x[:, 0]
        if mode == "last":
            return x[:, -1]
        if mode == "max":
            return x.amax(1)
        if mode == "mean":
            return x.mean(1)
        weights = torch.arange(1, count + 1).to(x.dtype)
        if mode == "weightedmean":
            return (x * weights[:, None]).sum(1) / weights.sum()
        return x.sum(1) / weights[-1].sqrt()


class Normalize(nn.Module):
    """A vector of length 1."""

    def forward(self, x: Tensor) -> Tensor:
        """[1, dim]."""
        return F.normalize(x, dim=-1)


class TextEmbedding(nn.Module):
    """A model of transformers, and the layers after it."""

    def __init__(self, model: nn.Module, head: nn.Sequential) -> None:
        super().__init__()
        self.model, self.head = model, head

    def forward(self, tokens: Tensor) -> Tensor:
        """Takes int64 [1, tokens] and returns float32 [1, dim]."""
        # Only decoders know what `use_cache` is.
        options = {"use_cache": False} if hasattr(self.model.config, "use_cache") else {}
        states = self.model(input_ids=tokens, **options).last_hidden_state
        vector: Tensor = self.head(states)
        return vector


def head_of(folder: Path, pooling: str | None = None, normalize: bool | None = None) -> nn.Sequential:
    """The layers after the model, from `modules.json` or from the arguments, whose defaults are the folder's pooling
    and normalisation.

    Raises SettingsError if neither says how to pool, CheckpointError for a folder that cannot be used.
    """
    parts: list[nn.Module] = []
    for kind, inner in _modules(folder):
        if kind == "Pooling":
            parts.append(Pooling(_modes(inner) if pooling is None else [pooling]))
        elif kind == "Dense":
            parts.append(_dense(inner))
        elif kind == "Normalize":
            parts.append(Normalize())
        elif kind != "Dropout":
            raise CheckpointError(f"{folder / 'modules.json'}: modules of type {kind!r} are not supported")
    if pooling is not None:
        parts = [Pooling([pooling]), *(part for part in parts if not isinstance(part, Pooling))]
    if normalize is not None:
        parts = [part for part in parts if not isinstance(part, Normalize)] + ([Normalize()] if normalize else [])
    if not parts or not isinstance(parts[0], Pooling):
        raise SettingsError(
            f"{folder} has no modules.json that says how to pool the vectors of tokens: name one of "
            f"{', '.join(POOLINGS)}"
        )
    return nn.Sequential(*parts)


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """The types of the modules after the model, and their folders."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    found = _json(path)
    if not isinstance(found, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("type"), str) and isinstance(entry.get("path"), str)
        for entry in found
    ):
        raise CheckpointError(f"{path}: expected a list of objects with 'type' and 'path'")
    modules = [(str(entry["type"]).rpartition(".")[2], str(entry["path"])) for entry in found]
    if modules and modules[0][0] != "Transformer":
        raise CheckpointError(f"{path}: expected a first module of type Transformer, found {modules[0][0]!r}")
    if modules and modules[0][1] != "":
        raise CheckpointError(f"{path}: expected '' as the path of the model's module, found {modules[0][1]!r}")
    if any(Path(path).is_absolute() or ".." in Path(path).parts for _, path in modules):
        raise CheckpointError(f"{path}: expected paths inside of the folder")
    return [(kind, folder / inner) for kind, inner in modules[1:]]


def _modes(folder: Path) -> list[str]:
    path = folder / "config.json"
    config = _object(path)
    if config.get("include_prompt", True) is not True:
        raise CheckpointError(
            f"{path}: include_prompt is {config['include_prompt']!r}; this version pools all tokens of a text, as with "
            "true. Name a pooling to leave this file out"
        )
    found = config.get("pooling_mode")
    if found is None:
        found = [mode for flag, mode in _FLAGS.items() if config.get(flag)]
    given = found if isinstance(found, list) else [found]
    modes = [_NAMES.get(mode, mode) for mode in given if isinstance(mode, str)]
    if len(modes) < len(given) or not modes or not set(modes) <= set(POOLINGS):
        raise CheckpointError(f"{path}: expected one of {', '.join(POOLINGS)} as pooling_mode, found {given}")
    return modes


def _dense(folder: Path) -> nn.Module:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    config = _object(folder / "config.json")
    name = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise CheckpointError(
            f"{folder / 'config.json'}: activation_function is {name!r}, expected one of {', '.join(_ACTIVATIONS)}"
        )
    try:
        weights = load_file(folder / "model.safetensors")
        weight, bias = weights["linear.weight"], weights.get("linear.bias")
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
        layer.load_state_dict(
            {key: value.float() for key, value in (("weight", weight), ("bias", bias)) if value is not None}
        )
    except (OSError, SafetensorError, KeyError, RuntimeError, IndexError) as error:
        raise CheckpointError(f"{folder / 'model.safetensors'}: {error}") from None
    return nn.Sequential(layer, _ACTIVATIONS[name]())


def _json(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, JSONFileError) as error:
        raise CheckpointError(str(error)) from None


def _object(path: Path) -> dict[str, Any]:
    found = _json(path)
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: expected an object of JSON, found {type(found).__name__}")
    return found


def load_embedding_model(folder: Path) -> Any:
    """The model of a folder. Raises CheckpointError for one that cannot be used, SettingsError without transformers."""
    # The pooler makes a vector for tasks of classification, which is not part of the program.
    return pretrained_model("AutoModel", folder, "exporting this model", unused=("pooler.",))


def longest(folder: Path, model: Any, wanted: int | None = None) -> int:
    """The largest number of tokens of a text: `wanted`, else the setting of sentence-transformers, else the number of
    the model's positions, at most 512."""
    config = model.config
    positions = int(getattr(config, "max_position_embeddings", 0) or 512)
    # The position embeddings of RoBERTa, MPNet and related models reserve this index, and count positions from the next
    # one.
    padding = getattr(getattr(model, "embeddings", None), "padding_idx", None)
    if padding is not None:
        positions -= int(padding) + 1
    given = (wanted, _of_texts(folder), min(positions, 512))
    found = next(length for length in given if length is not None)
    if type(found) is not int or not 3 <= found <= positions:
        raise SettingsError(
            f"the length of texts is {found!r}; expected from 3 to {positions} tokens, as the model has"
        )
    return found


def _of_texts(folder: Path) -> Any:
    """The largest number of tokens of a text that sentence-transformers has in its settings; None without a setting.
    Raises CheckpointError for a setting that programs do not support."""
    path = next(iter(sorted(folder.glob("sentence_*_config.json"))), None)  # "bert", or another model, is in its name
    if path is None:
        return None
    settings = _object(path)
    if settings.get("do_lower_case", False) is not False:
        raise CheckpointError(
            f"{path}: do_lower_case is {settings['do_lower_case']!r}, expected false: only the tokenizer changes "
            "letters. Change the file, and write texts in small letters"
        )
    return settings.get("max_seq_length")


def tokens_around(folder: Path) -> tuple[list[int], list[int]]:
    """The tokens that the model's tokenizer adds before and after a text."""
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the package has no type of error
        raise CheckpointError(f"{folder / 'tokenizer.json'}: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    whole = tokenizer.encode("a").ids
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return whole[:start], whole[start + len(bare) :]
    raise CheckpointError(f"{folder / 'tokenizer.json'}: its post-processor changes the tokens of a text")


def capture_embedding(model: nn.Module, head: nn.Sequential, length: int) -> ExportedProgram:
    """Exports the method `embed` for up to `length` tokens."""
    tokens = torch.ones(1, min(7, length), dtype=torch.int64)

    def from_tokens(least: int) -> ExportedProgram:
        shapes = ({1: Dim("tokens", min=least, max=length)},)
        # One token is treated like several, although torch.export makes size 1 a separate case.
        with torch.no_grad(), torch.fx.experimental._config.patch(backed_size_oblivious=True):
            return export(TextEmbedding(model, head).eval(), (tokens,), dynamic_shapes=shapes, strict=False)

    try:
        return from_tokens(1)
    except torch._dynamo.exc.UserError:
        # The code of some models, such as MPNet, checks whether there is one token. Tokenizers add at least two tokens
        # to a text; the program refuses a single token.
        return from_tokens(2)


def export_embedding(
    folder: Path,
    backend: Backend | None = None,
    pooling: str | None = None,
    normalize: bool | None = None,
    max_length: int | None = None,
) -> ExecutorchProgramManager:
    """The program of the model in a folder, with its tokenizer inside.

    Args:
        folder: A folder with `config.json`, safetensors files and `tokenizer.json`.
        backend: The backend to which the layers are delegated.
        pooling: One of POOLINGS; by default the folder's.
        normalize: Whether vectors have length 1; by default as in the folder.
        max_length: The largest number of tokens of a text, including the tokens that the tokenizer adds.

    Raises SettingsError and CheckpointError for what cannot be used.
    """
    head, model = head_of(folder, pooling, normalize), load_embedding_model(folder)
    length = longest(folder, model, max_length)
    around = dict(zip(("get_prefix_tokens", "get_suffix_tokens"), tokens_around(folder), strict=True))
    metadata: dict[str, Any] = {name: tokens for name, tokens in around.items() if tokens}
    metadata["get_max_seq_len"] = length
    tokenizer = tokenizer_data(str(folder), None)
    partitioners = [] if backend is None else [backend.find("partitioner")()]
    program = {"embed": capture_embedding(model, head, length)}
    edge = to_edge_transform_and_lower(program, partitioner=partitioners, constant_methods=metadata)
    planning = MemoryPlanningPass(alloc_graph_input=False)
    return edge.to_executorch(ExecutorchBackendConfig(named_data=tokenizer.named_data, memory_planning_pass=planning))
