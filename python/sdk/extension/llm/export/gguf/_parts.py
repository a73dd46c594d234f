# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in the GGUF format: one file, or several that `gguf-split` of llama.cpp has made of one.

Parts are called `NAME-00001-of-00003.gguf` and so on. The first one has the metadata; each one has its own number from
0 on (`split.no`), how many there are (`split.count`) and how many tensors there are in all (`split.tensors.count`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from torch import Tensor

from sdk.extension.llm.export.gguf._file import GGUFError, GGUFPart, GGUFTensor

_NAME = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
_NUMBER, _COUNT, _TENSORS = "split.no", "split.count", "split.tensors.count"
_MOST = 99999
"""Parts: their names have five digits."""


class GGUFFile:
    """A GGUF file with the other parts of its checkpoint; all are mapped, and tensors are read when they are used.

    Raises `GGUFError` for a file that is not valid, and for parts that are missing or do not belong together; OSError
    for a file that cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        """Path of the first part."""
        first = GGUFPart(self.path)
        self.metadata: dict[str, Any] = first.metadata
        """Values by key, such as `general.architecture`: numbers, strings, booleans, and lists of them."""
        self.tensors: dict[str, GGUFTensor] = {}
        """Tensors by name, in the files' order."""
        self._parts: dict[str, GGUFPart] = {}
        for part in [first, *self._others(first)]:
            if twice := sorted(self.tensors.keys() & part.tensors.keys()):
                raise GGUFError(f"{part.path}: the tensor {twice[0]!r} is in another part, too")
            self.tensors |= part.tensors
            self._parts |= dict.fromkeys(part.tensors, part)
        expected = self.metadata.get(_TENSORS)
        if expected is not None and expected != len(self.tensors):
            raise GGUFError(
                f"{self.path}: {_TENSORS} is {expected!r}, but there are {len(self.tensors)} tensors; do all parts "
                "belong to one checkpoint?"
            )

    def __getitem__(self, name: str) -> Tensor:
        """A tensor without a copy: floats in their shape, a quantised one as uint8 [rows, bytes of a row]."""
        return self._parts[name][name]

    def _others(self, first: GGUFPart) -> list[GGUFPart]:
        """The second part and those that follow it."""
        count, number = first.metadata.get(_COUNT, 1), first.metadata.get(_NUMBER, 0)
        if not _is_number(count) or count > _MOST or not _is_number(number):
            raise GGUFError(f"{self.path}: {_COUNT} is {count!r} and {_NUMBER} {number!r}, expected whole numbers")
        if count < 2:
            return []
        match = _NAME.fullmatch(self.path.name)
        start, end = "NAME-", f"-of-{count:05}.gguf"
        if match is not None and int(match[3]) == count:  # the names of the parts differ in the number only
            start, end = self.path.name[: match.start(2)], self.path.name[match.end(2) :]
        names = [f"{start}{i + 1:05}{end}" for i in range(count)]
        if number != 0 or self.path.name != names[0]:
            raise GGUFError(
                f"{self.path} is part {number + 1} of {count}: name the first part, {names[0]}, with the others beside "
                "it"
            )
        return [self._part(names[i], i, count) for i in range(1, count)]

    def _part(self, name: str, number: int, count: int) -> GGUFPart:
        path = self.path.with_name(name)
        try:
            part = GGUFPart(path)
        except OSError as error:
            raise GGUFError(f"{path}: part {number + 1} of {count} cannot be opened: {error.strerror}") from None
        found = part.metadata.get(_NUMBER), part.metadata.get(_COUNT)
        if found != (number, count):
            raise GGUFError(
                f"{path}: {_NUMBER} and {_COUNT} are {found[0]} and {found[1]}, expected {number} and {count}"
            )
        return part


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
