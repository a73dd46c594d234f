# SPDX-License-Identifier: BSD-3-Clause
"""Reads descriptions of models, `config.json` and the metadata of GGUF files, and ignores no entry of them.

Each entry is read, or is known to have no effect, or has a value that has no effect; otherwise it is an error that
names the entry.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

from sdk.extension.llm.export.checkpoint._names import CheckpointError

_LARGEST = 1 << 24
"""Upper bound of every count in a description."""
_REQUIRED: Any = object()


class Fields:
    """The entries of a description. It remembers which were read; `refuse_the_rest` names those that were not."""

    def __init__(
        self, entries: Mapping[str, Any], where: str, prefix: str = "", defaults: Mapping[str, Any] | None = None
    ) -> None:
        """`where`: the description that has the entries, as errors name it; `prefix`: what errors write before the name
        of an entry.

        `defaults`: values of missing entries; an entry without a default is required.
        """
        self._entries, self._where, self._prefix = entries, where, prefix
        self._defaults = defaults or {}
        self._read: set[str] = set()

    def error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._where}: {what}")

    def wrong(self, name: str, expected: str) -> CheckpointError:
        """The error to raise for an entry whose value is not an expected one."""
        return CheckpointError(
            f"{self._where}: {self._prefix}{name} is {short(self._entries.get(name))}, expected {expected}"
        )

    def has(self, name: str) -> bool:
        """Whether there is an entry that is not null."""
        return self._entries.get(name) is not None

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """An entry, which may be null, or its default. Raises CheckpointError if there is neither."""
        self._read.add(name)
        if default is _REQUIRED:
            default = self._defaults.get(name, _REQUIRED)
        found = self._entries.get(name, default)
        if found is _REQUIRED:
            raise CheckpointError(f"{self._where} lacks {self._prefix + name!r}")
        return found

    def whole(self, name: str, default: Any = _REQUIRED, optional: bool = False, least: int = 1) -> Any:
        """Returns a whole number, or the default unchanged. `optional`: returns None for an entry that is null."""
        found = self.value(name, default)
        if name not in self._entries or (optional and found is None):
            return found
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= _LARGEST:
            raise self.wrong(name, f"a whole number from {least} to {_LARGEST}")
        return found

    def positive(self, name: str, default: Any = _REQUIRED, optional: bool = False) -> Any:
        """Returns a float above 0, or the default unchanged. `optional`: returns None for an entry that is null."""
        found = self.value(name, default)
        if name not in self._entries or (optional and found is None):
            return found
        if not isinstance(found, (int, float)) or isinstance(found, bool) or not 0 < found <= sys.float_info.max:
            raise self.wrong(name, "a number above 0")
        return float(found)

    def flag(self, name: str, default: Any = _REQUIRED) -> bool:
        """True or false."""
        found = self.value(name, default)
        if not isinstance(found, bool):
            raise self.wrong(name, "true or false")
        return found

    def items(self, name: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Returns a list whose items have the type, or the default unchanged; None for an entry that is null. Whole
        numbers are accepted as floats."""
        found = self.value(name, default)
        if found is None or name not in self._entries:
            return found
        kinds = (float, int) if kind is float else kind
        if not isinstance(found, list) or not all(
            isinstance(item, kinds) and not isinstance(item, bool) and (kind is not float or _is_finite(item))
            for item in found
        ):
            raise self.wrong(name, f"a list of {kind.__name__}")
        return found

    def inner(self, name: str) -> Fields:
        """The entries of an object; empty if it is null or missing."""
        found = self.value(name, None)
        if found is None:
            found = {}
        if not isinstance(found, dict):
            raise self.wrong(name, "an object")
        return Fields(found, self._where, f"{self._prefix}{name}.")

    def refuse_the_rest(
        self, without_effect: Collection[str] = (), neutral: Mapping[str, tuple[Any, ...]] | None = None
    ) -> None:
        """Raises CheckpointError for an entry that was not read, unless it cannot change what the model computes.

        `without_effect`: entries whose values do not matter. `neutral`: the values with which an entry has no effect.
        """
        neutral = neutral or {}
        for name in sorted(self._entries.keys() - self._read - set(without_effect)):
            if name not in neutral:
                raise CheckpointError(
                    f"{self._where}: {self._prefix}{name} is {short(self._entries[name])}, and this version does not "
                    "know what that changes in this model; remove the entry if it changes nothing"
                )
            if self._entries[name] not in neutral[name]:
                values = " or ".join(map(repr, neutral[name]))
                raise self.wrong(name, f"{values}: nothing else is supported")


def _is_finite(number: Any) -> bool:
    return abs(number) <= sys.float_info.max  # an int may be larger


def short(value: Any) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
