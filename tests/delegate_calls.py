# SPDX-License-Identifier: BSD-3-Clause
"""Programs that call a delegate with another number of arguments than its payload has, for tests of backends."""

from __future__ import annotations

from typing import Any

import pytest

from sdk.exir import schema
from sdk.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

WRONG_COUNTS = {"one less": -1, "one more": 1}
MESSAGE = "the program passes {} arguments to a delegate whose payload has"


def with_wrong_count(program: bytes, change: int) -> tuple[bytes, str]:
    """Returns the program with a first delegate call that lacks its last argument or passes it twice, and the start of
    the message."""
    file = deserialize_pte_binary(program)
    calls = [call.instr_args for call in file.program.execution_plan[0].chains[0].instructions]
    args = next(call for call in calls if isinstance(call, schema.DelegateCall)).args
    args[-1:] = args[-1:] * (1 + change)
    return bytes(serialize_pte_binary(file)), MESSAGE.format(len(args))


def check_wrong_counts(program: bytes, inputs: tuple[Any, ...]) -> None:
    """Checks that the runtime reports an invalid program for both wrong counts."""
    for change in WRONG_COUNTS.values():
        wrong, message = with_wrong_count(program, change)
        with pytest.raises(RuntimeError, match=rf"(?s)\[InvalidProgram\].*{message}"):
            _load_for_executorch_from_buffer(wrong).forward(inputs)
    _load_for_executorch_from_buffer(program).forward(inputs)
