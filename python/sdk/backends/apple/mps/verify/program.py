# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: delegates of MPS by the interpreter, all else by PyTorch's operators."""

from __future__ import annotations

from sdk.backends.apple.mps.verify import MPSProgram
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of MPS. It is computed in PyTorch, which is not Apple's arithmetic."""

    BACKEND_ID = "MPSBackend"
    TITLE = "MPS"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> MPSProgram:
        return MPSProgram.from_payload(payload)
