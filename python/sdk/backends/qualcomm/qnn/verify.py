# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: the interpreter of `sdk.backends.npu` runs delegates of QNN, and PyTorch's operators
compute the rest."""

from __future__ import annotations

from sdk.backends.npu.compiler import graphs_for
from sdk.backends.npu.interpreter import MethodInterpreter
from sdk.backends.qualcomm.qnn.compiler import COMPILER
from sdk.backends.qualcomm.qnn.payload import binary_of
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of QNN: reference payloads, and context binaries that this process
    compiled."""

    BACKEND_ID = "QnnBackend"
    TITLE = "QNN"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> MethodInterpreter:
        return MethodInterpreter(graphs_for(COMPILER.title, binary_of(payload)))
