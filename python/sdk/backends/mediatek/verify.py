# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: the interpreter of `sdk.backends.npu` runs delegates of MediaTek, and PyTorch's
operators compute the rest."""

from __future__ import annotations

from sdk.backends.mediatek.compiler import COMPILER
from sdk.backends.mediatek.preprocess import network_of
from sdk.backends.npu.compiler import graph_for
from sdk.backends.npu.interpreter import Interpreter
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of MediaTek: reference payloads, and networks that this process
    compiled."""

    BACKEND_ID = "NeuropilotBackend"
    TITLE = "MediaTek"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> Interpreter:
        return Interpreter(graph_for(COMPILER.title, network_of(payload), named_data))
