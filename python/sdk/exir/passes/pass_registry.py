# SPDX-License-Identifier: BSD-3-Clause
"""Passes by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.pass_base import PassType


class PassRegistry:
    """Maps a name to one or more passes, shared by the whole process."""

    registry: ClassVar[dict[str, list[PassType]]] = {}

    @classmethod
    def register(cls, pass_name: str | None = None) -> Callable[[PassType], PassType]:
        """Decorator that registers a pass under `pass_name`, or under the name of the function or class."""

        def decorate(one_pass: PassType) -> PassType:
            key = pass_name or str(getattr(one_pass, "__name__", type(one_pass).__name__))
            cls.register_list(key, [one_pass])
            return one_pass

        return decorate

    @classmethod
    def register_list(cls, pass_name: str, pass_list: list[PassType]) -> None:
        """Registers several passes under one name. A name can be registered once."""
        if pass_name in cls.registry:
            raise ExportError(ExportErrorType.VIOLATION_OF_SPEC, f"a pass is already registered as {pass_name!r}")
        cls.registry[pass_name] = pass_list

    @classmethod
    def get(cls, key: str) -> list[PassType]:
        """The passes registered under a name."""
        if key not in cls.registry:
            known = ", ".join(sorted(cls.registry)) or "none"
            raise ExportError(ExportErrorType.NOT_SUPPORTED, f"no pass is registered as {key!r}; registered: {known}")
        return cls.registry[key]
