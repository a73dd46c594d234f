# SPDX-License-Identifier: BSD-3-Clause
"""Reads programs from the archives that `torch.export.save` and `package_pt2` write.

torch's own reader unpickles weights that are not plain tensors, loads compiled libraries, and trusts the graph.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import torch
from torch._export.serde import schema
from torch._export.serde import serialize as torch_serde
from torch.export import ExportedProgram
from torch.export.pt2_archive import constants as layout

from sdk.exir._serialize._untrusted import ArchiveError, read_json, read_members
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.serde._read import from_dict, read_inputs, read_weights, reading
from sdk.exir.serde._schema import ProgramReader, damaged, path
from sdk.exir.serde._tensor_file import TensorFileError, check_bounds, read_tensors

_MODEL, _JSON = layout.MODELS_FILENAME_FORMAT.split("{}")


class Archive:
    """The members of a `.pt2` file."""

    def __init__(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Raises ExportError if `file` is not a ZIP file, or is damaged."""
        try:
            self.members = read_members(file)
        except ArchiveError as error:
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE, f"the file is not an archive of a program: {error}"
            ) from error
        # torch puts everything in a folder of any name.
        folders = {name.partition("/")[0] + "/" for name in self.members}
        self._folder = next(iter(folders)) if len(folders) == 1 else ""

    def _inside(self) -> list[str]:
        return [name.removeprefix(self._folder) for name in self.members]

    def content(self, name: str) -> bytes:
        """A member of torch's folder. Raises ExportError if it is missing."""
        if self._folder + name not in self.members:
            raise damaged(f"the archive has no {name[:120]!r}")
        return self.members[self._folder + name]

    def programs(self) -> dict[str, ExportedProgram]:
        """The programs by name; `torch.export.save` names its only one "model". Raises ExportError."""
        with reading():
            return {name: self._program(name) for name in self._names()}

    def extra_files(self) -> dict[str, str]:
        """The texts of `extra_files`, by name."""
        return {
            name.removeprefix(layout.EXTRA_DIR): self.content(name).decode()
            for name in self._inside()
            if name.startswith(layout.EXTRA_DIR)
        }

    def _names(self) -> list[str]:
        models = [name for name in self._inside() if name.startswith(_MODEL) and name.endswith(_JSON)]
        return [name.removeprefix(_MODEL).removesuffix(_JSON) for name in models]

    def _program(self, name: str) -> ExportedProgram:
        weights = self._tensors(
            name, layout.WEIGHTS_DIR, layout.WEIGHTS_CONFIG_FILENAME_FORMAT, layout.WEIGHT_FILENAME_PREFIX
        )
        constants = self._tensors(
            name, layout.CONSTANTS_DIR, layout.CONSTANTS_CONFIG_FILENAME_FORMAT, layout.TENSOR_CONSTANT_FILENAME_PREFIX
        )
        inputs = read_inputs(self.content(layout.SAMPLE_INPUTS_FILENAME_FORMAT.format(name)))
        return from_dict(read_json(self.content(f"{_MODEL}{name}{_JSON}")), weights, constants, inputs, guarded=True)

    def _tensors(self, name: str, folder: str, config: str, prefix: str) -> dict[str, torch.Tensor]:
        if f"{folder}{name}.pt" in self._inside():  # older versions
            return read_weights(self.content(f"{folder}{name}.pt"), "weights")
        entries = ProgramReader().part(schema.PayloadConfig, read_json(self.content(config.format(name)))).config
        storages: dict[str, torch.UntypedStorage] = {}
        found = {}
        for key, entry in entries.items():
            if not entry.path_name.startswith(prefix):
                raise ExportError(
                    ExportErrorType.NOT_SUPPORTED,
                    f"the program has {key[:80]!r}, which is an object, not a tensor: objects are not read from files",
                )
            content = self.content(folder + entry.path_name)
            if entry.use_pickle:
                found[path(key)] = _tensor_of(read_tensors(content), key)
            else:
                if entry.path_name not in storages:
                    storages[entry.path_name] = _storage(content)
                found[path(key)] = _view(storages[entry.path_name], entry)
        return found


def _tensor_of(value: Any, key: str) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TensorFileError(f"the weight {key[:80]!r} is {type(value).__name__}, expected a tensor")
    return value


def _storage(content: bytes) -> torch.UntypedStorage:
    if not content:
        return torch.UntypedStorage(0)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).untyped_storage()


def _view(storage: torch.UntypedStorage, entry: schema.PayloadMeta) -> torch.Tensor:
    """A tensor of the archive; a member has its elements."""
    meta = entry.tensor_meta
    if meta is None:
        raise TensorFileError("a weight of the archive has no shape")
    dtype = torch_serde.deserialize_scalar_type(meta.dtype)
    offset = torch_serde.deserialize_storage_offset(meta.storage_offset)
    size, stride = torch_serde.deserialize_size(meta.sizes), torch_serde.deserialize_stride(meta.strides)
    check_bounds(storage.nbytes() // dtype.itemsize, offset, size, stride)
    made = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    device = torch_serde.deserialize_device(meta.device)
    if device.type != "cpu":
        made = made.to(device)
    if entry.is_param:
        return torch.nn.Parameter(made, requires_grad=meta.requires_grad)
    return made.requires_grad_(meta.requires_grad)
