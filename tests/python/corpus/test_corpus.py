# SPDX-License-Identifier: BSD-3-Clause
"""Every program of the original in tests/data/corpus gives in our runtime what PyTorch eager gave (RTP-01)."""

from __future__ import annotations

import pytest
from corpus_programs import LEFT_OUT, calls, check, data_file, program_file, program_names

from sdk.runtime import ExecuTorchError, Program, Runtime


def load(name: str) -> Program:
    return Runtime.get().load_program(program_file(name), data_map=data_file(name))


@pytest.mark.parametrize("name", [name for name in program_names() if name not in LEFT_OUT])
def test_outputs_are_those_of_eager(name: str) -> None:
    program = load(name)
    for index, call in enumerate(calls(name)):
        outputs = program.load_method(call.method).execute(call.inputs)
        assert len(outputs) == len(call.outputs), f"call {index} of {call.method}"
        for position, (found, expected) in enumerate(zip(outputs, call.outputs, strict=True)):
            check(found, expected, f"call {index} of {call.method}, output {position}")


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ExecuTorchError, match=LEFT_OUT[name]):
        load(name).load_method("forward")


def test_the_list_of_left_out_programs_is_current() -> None:
    assert set(LEFT_OUT) <= set(program_names())
    assert len(program_names()) - len(LEFT_OUT) >= 44
