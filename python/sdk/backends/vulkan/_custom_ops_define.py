# SPDX-License-Identifier: BSD-3-Clause
"""Registers the operators of `torch.ops.et_vk`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

lib = torch.library.Library("et_vk", "FRAGMENT")

_Implementation = Callable[..., Any]


def define(signature: str, keep_whole: bool = False) -> Callable[[_Implementation], _Implementation]:
    """Registers an operator. `keep_whole` operators have another function for shapes, `NAME_meta`."""

    def decorate(function: _Implementation) -> _Implementation:
        lib.define(signature)
        lib.impl(signature.partition("(")[0], function, "CPU" if keep_whole else "CompositeExplicitAutograd")
        return function

    return decorate


def implement_meta(name: str) -> Callable[[_Implementation], _Implementation]:
    def decorate(function: _Implementation) -> _Implementation:
        lib.impl(name, function, "Meta")
        return function

    return decorate
