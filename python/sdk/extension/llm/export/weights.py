# SPDX-License-Identifier: BSD-3-Clause
"""Loads the weights of a checkpoint into a module of any kind, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from sdk.extension.llm.export.checkpoint import CheckpointError, read_safetensors
from sdk.extension.llm.export.gguf import iter_gguf
from sdk.extension.llm.export.quant.convert import Convert, maybe_cast, to_default
from sdk.util.words import similar

Pair = tuple[str, Tensor]
KeyMap = Callable[[str], str | None]
"""Maps a name in the checkpoint to the name in the module; None leaves the weight out."""
TieMap = dict[str, tuple[str, bool]]
"""Maps the name of a weight to the name of another one with the same value, and to whether it is a copy."""
RawIter = Callable[[str], Iterable[Pair]]
"""Reads the names and values of a file."""


def iter_checkpoint(
    path: str,
    *,
    key_map: KeyMap | None = None,
    convert: Convert = to_default,
    tie_map: TieMap | None = None,
    dtype: torch.dtype | None = None,
    raw_iter: RawIter | None = None,
) -> Iterator[Pair]:
    """Names and values of the weights of a GGUF file, a safetensors file or a folder with those; `raw_iter` reads
    others.

    Each weight gets the name of `key_map`, the form that `convert` gives it, and `dtype`, if it is floating-point;
    quantised weights keep their integers. Weights of `tie_map` that the file does not have come last. Raises ValueError
    (`CheckpointError`, `GGUFError`) for a file that is not valid or of another kind.
    """
    found: set[str] = set()
    tied: dict[str, Tensor] = {}
    for key, raw in (raw_iter or _reader(path))(path):
        name = key if key_map is None else key_map(key)
        if name is None:
            continue
        value = maybe_cast(convert(name, raw), dtype)
        found.add(name)
        yield name, value
        if tie_map is not None and name in tie_map:
            other, copied = tie_map[name]
            tied[other] = value.clone() if copied else value
    yield from ((name, value) for name, value in tied.items() if name not in found)


def _reader(path: str) -> RawIter:
    if path.endswith(".gguf"):
        return iter_gguf
    if path.endswith(".safetensors") or Path(path).is_dir():
        return lambda name: read_safetensors(Path(name))
    raise CheckpointError(f"{path}: expected a .gguf or .safetensors file, or a folder with .safetensors files")


def load_checkpoint(
    path: str,
    model: nn.Module,
    *,
    key_map: KeyMap | None = None,
    convert: Convert = to_default,
    tie_map: TieMap | None = None,
    dtype: torch.dtype | None = None,
    raw_iter: RawIter | None = None,
) -> None:
    """Puts the weights of `iter_checkpoint` into a module, which may be on the device `meta`.

    Raises RuntimeError for parameters that are still on `meta` afterwards, and what `assign_one` raises.
    """
    for name, value in iter_checkpoint(
        path, key_map=key_map, convert=convert, tie_map=tie_map, dtype=dtype, raw_iter=raw_iter
    ):
        assign_one(model, name, value)
    assert_all_materialized(model)


def assign_state_dict(model: nn.Module, state_dict: dict[str, Tensor], convert: Convert = to_default) -> None:
    """Like `load_checkpoint`, with weights in memory. Afterwards, no parameter requires gradients."""
    for name, value in state_dict.items():
        assign_one(model, name, convert(name, value))
    assert_all_materialized(model)
    model.requires_grad_(False)


def assign_one(model: nn.Module, fqn: str, value: Tensor) -> None:
    """Assigns a tensor to the parameter or buffer with this name.

    Raises AttributeError for a name that the model does not have, ValueError for another shape.
    """
    owner, _, name = fqn.rpartition(".")
    try:
        module = model.get_submodule(owner)
        parts = {key: value for key, value in module._parameters.items() if value is not None}  # no bias is None
        known: dict[str, Tensor | None] = {**parts, **module._buffers}
        expected = known[name]
    except (AttributeError, KeyError):
        meant = similar(fqn, _names(model))
        hint = f"; did you mean {meant!r}?" if meant else ": is it of this model?"
        raise AttributeError(f"the model has no parameter or buffer {fqn!r}{hint}") from None
    if expected is not None and value.shape != expected.shape:
        raise ValueError(
            f"{fqn} has the shape {list(value.shape)} in the checkpoint, expected {list(expected.shape)}: is it of "
            "this model?"
        )
    setattr(module, name, nn.Parameter(value, requires_grad=False) if name in parts else value.detach())


def _names(model: nn.Module) -> list[str]:
    return [name for name, _ in (*model.named_parameters(), *model.named_buffers())]


def assert_all_materialized(model: nn.Module) -> None:
    """Raises RuntimeError with the names of parameters on the device `meta`, which have no values."""
    if missing := [name for name, value in model.named_parameters() if value.device.type == "meta"]:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise RuntimeError(f"the checkpoint lacks {', '.join(missing[:5])}{more}: is it of this model?")
