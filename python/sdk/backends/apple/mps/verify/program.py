# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: the interpreter runs delegates of MPS, PyTorch's operators compute the rest."""

from __future__ import annotations

from sdk.backends.apple.mps.verify import MPSProgram
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of MPS. PyTorch computes it, so results may differ from those of Apple's
    arithmetic."""

    BACKEND_ID = "MPSBackend"
    TITLE = "MPS"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> MPSProgram:
        return MPSProgram.from_payload(payload)
