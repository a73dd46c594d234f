# SPDX-License-Identifier: BSD-3-Clause
"""Random expressions and statements: jinja2 and ChatTemplate give the same text, or both refuse."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import jinja2.filters
import pytest
from chat_template_grammar import VALUES, expression, template
from test_chat_templates import REFUSALS, reference

from sdk.extension.llm.runner import ChatTemplate
from sdk.extension.pybindings.portable_lib import ExecuTorchError


class HasAddressError(Exception):
    """The text of this object contains its address."""


class Generator:
    """A generator of jinja2, which tells when a template uses its text, also in parts, sorted or counted."""

    def __init__(self, items: types.GeneratorType) -> None:
        self.items = items

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items)

    def __repr__(self) -> str:
        raise HasAddressError


def with_generators(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter of jinja2, whose generators are `Generator`s."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        return Generator(result) if isinstance(result, types.GeneratorType) else result

    return call


@pytest.fixture(autouse=True)
def generators_of_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, function in jinja2.filters.FILTERS.items():
        monkeypatch.setitem(jinja2.filters.FILTERS, name, with_generators(function))


def differences(make: Callable[[int], str], seeds: range) -> list[str]:
    """Returns the differences from jinja2. Templates that use the addresses of objects are not compared."""
    found, rendered = [], 0
    for seed in seeds:
        source = make(seed)
        try:
            with warnings.catch_warnings(action="ignore"):
                expected = reference(source, [], **VALUES)
        except REFUSALS:
            expected = None
        except HasAddressError:
            continue
        try:
            text = ChatTemplate(source).render([], False, **VALUES)
        except ExecuTorchError as error:
            text = None if expected is None else f"error: {error}"
        rendered += expected is not None
        has_address = expected is not None and (
            " at 0x" in expected.lower() or "<built-in" in expected or "<bound" in expected
        )
        if text != expected and not has_address:
            found.append(f"seed {seed}: {source!r} gives {text!r}, expected {expected!r}")
    assert rendered > len(seeds) // 8
    return found


@pytest.mark.parametrize("make", [expression, template])
def test_random_templates(make: Callable[[int], str]):
    assert not differences(make, range(300))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("make", [expression, template])
def test_many_random_templates(make: Callable[[int], str], part: int):
    assert not differences(make, range(1000 * part, 1000 * part + 1000))
