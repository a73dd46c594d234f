# SPDX-License-Identifier: BSD-3-Clause
"""Every program of the original in tests/data/corpus gives in our runtime what PyTorch eager gave (RTP-01)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpus_programs import calls, data_file, program_file, program_names

from sdk.runtime import ExecuTorchError, Program, Runtime

# Programs that need what this build does not have, and what the error must name.
NEEDS_XNNPACK = "XnnpackBackend"
LEFT_OUT = {
    "add_xnn": NEEDS_XNNPACK,
    "channels_last_input_only_xnn": NEEDS_XNNPACK,
    "dyn_batch_xnn": NEEDS_XNNPACK,
    "linear_xnn": NEEDS_XNNPACK,
    "ptd_xnn_flag_only": NEEDS_XNNPACK,
    "q8_dynamic_linear_xnn": NEEDS_XNNPACK,
    "q8_static_pertensor_xnn": NEEDS_XNNPACK,
    "xnn_binary": NEEDS_XNNPACK,
    "xnn_fp16": NEEDS_XNNPACK,
    "xnn_inline_delegate": NEEDS_XNNPACK,
    "xnn_many_partitions": NEEDS_XNNPACK,
    "xnn_many_partitions_ok": NEEDS_XNNPACK,
    "xnn_per_op": NEEDS_XNNPACK,
    "xnn_pos": NEEDS_XNNPACK,
}

# Relative to the largest value of the output; what one rounding in a sum of a few hundred terms costs.
TOLERANCES = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def load(name: str) -> Program:
    return Runtime.get().load_program(program_file(name), data_map=data_file(name))


def check(found: Any, expected: Any, where: str) -> None:
    if not isinstance(expected, np.ndarray):
        assert type(found) is type(expected), f"{where}: {found!r} is no {type(expected).__name__}"
        assert found == expected, where
        return
    assert isinstance(found, np.ndarray), where
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(found, expected, where)
    else:
        finite = np.abs(expected[np.isfinite(expected)])
        scale = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * min(scale, 1.0), err_msg=where)


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
