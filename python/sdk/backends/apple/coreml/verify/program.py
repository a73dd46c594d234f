# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: the interpreter runs delegates of Core ML, PyTorch's operators compute the rest."""

from __future__ import annotations

from sdk.backends.apple.coreml.verify import CoreMLProgram
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of Core ML. PyTorch computes it, so results may differ from those of
    Apple's arithmetic."""

    BACKEND_ID = "CoreMLBackend"
    TITLE = "Core ML"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> CoreMLProgram:
        return CoreMLProgram.from_payload(payload, named_data)
