# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the compiler: `ExportError` for what a user can fix, `InternalError` for a broken invariant."""

from __future__ import annotations

from enum import Enum


class ExportErrorType(Enum):
    """The kinds of an `ExportError`."""

    INVALID_INPUT_TYPE = 1
    """An input of the program has a type that cannot be exported."""

    INVALID_OUTPUT_TYPE = 2
    """An output of the program has a type that cannot be exported."""

    VIOLATION_OF_SPEC = 3
    """The graph does not follow the rules of the dialect it claims to be in."""

    NOT_SUPPORTED = 4
    """The graph is valid, but this exporter has no translation for a part of it."""

    MISSING_PROPERTY = 5
    """A node lacks metadata that an earlier pass should have set."""

    UNINITIALIZED = 6
    """A value is used before a pass has assigned it."""


class ExportError(Exception):
    """A program that cannot be exported, with the reason and what to do about it."""

    def __init__(self, error_code: ExportErrorType, message: str) -> None:
        super().__init__(f"[{error_code}]: {message}")
        self.error_code = error_code
        self.message = message


class InternalError(Exception):
    """An invariant of the compiler does not hold: a defect of the compiler or of a custom pass."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def internal_assert(pred: bool, assert_msg: str) -> None:
    """Raises `InternalError(assert_msg)` unless `pred` holds. Not removed by `python -O`."""
    if not pred:
        raise InternalError(assert_msg)
