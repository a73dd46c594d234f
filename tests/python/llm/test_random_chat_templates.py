# SPDX-License-Identifier: BSD-3-Clause
"""Random expressions and statements: jinja2 and ChatTemplate give the same text, or both refuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from chat_template_grammar import VALUES, expression, template
from test_chat_templates import REFUSALS, reference

from sdk.extension.llm.runner import ChatTemplate
from sdk.extension.pybindings.portable_lib import ExecuTorchError


def differences(make: Callable[[int], str], seeds: range) -> list[str]:
    """What is not as in jinja2. Texts with addresses of objects are not compared."""
    found, rendered = [], 0
    for seed in seeds:
        source = make(seed)
        try:
            with warnings.catch_warnings(action="ignore"):
                expected = reference(source, [], **VALUES)
        except REFUSALS:
            expected = None
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
