# SPDX-License-Identifier: BSD-3-Clause
"""Every program of the original in tests/data/corpus gives the outputs of PyTorch eager in our runtime."""

from __future__ import annotations

import pytest
from corpus_programs import calls, check, data_file, program_file, program_names

from sdk.runtime import Program, Runtime


def load(name: str) -> Program:
    return Runtime.get().load_program(program_file(name), data_map=data_file(name))


@pytest.mark.parametrize("name", program_names())
def test_outputs_are_those_of_eager(name: str) -> None:
    """RTP-01"""
    program = load(name)
    for index, call in enumerate(calls(name)):
        outputs = program.load_method(call.method).execute(call.inputs)
        assert len(outputs) == len(call.outputs), f"call {index} of {call.method}"
        for position, (found, expected) in enumerate(zip(outputs, call.outputs, strict=True)):
            check(found, expected, f"call {index} of {call.method}, output {position}", name)


def test_programs_with_and_without_delegates_are_there() -> None:
    delegated = [name for name in program_names() if "xnn" in name]
    assert len(delegated) >= 14
    assert len(program_names()) - len(delegated) >= 44
