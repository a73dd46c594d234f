# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of alignment, in bytes."""

from __future__ import annotations


def aligned_size(input_size: int, alignment: int) -> int:
    """`input_size` rounded up to a multiple of `alignment`."""
    return input_size + padding_required(input_size, alignment)


def padding_required(offset: int, alignment: int) -> int:
    """How many bytes to add to `offset` to reach a multiple of `alignment`."""
    if alignment <= 0:
        raise ValueError(f"alignment is {alignment}; expected a positive number of bytes")
    return -offset % alignment


def pad_to(data: bytes, length: int) -> bytes:
    """`data` with zeros added up to `length` bytes."""
    if length < len(data):
        raise ValueError(f"cannot pad {len(data)} bytes to {length}")
    return data.ljust(length, b"\0")


def check_power_of_two(name: str, alignment: int) -> int:
    """Returns `alignment` if it is a power of two. Otherwise raises a `ValueError` that names the option."""
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise ValueError(f"{name} is {alignment}; expected a power of two, in bytes")
    return alignment
