# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: the interpreter of `sdk.backends.npu` runs delegates of Neutron, and PyTorch's
operators compute the rest."""

from __future__ import annotations

from sdk.backends.npu.compiler import graph_for
from sdk.backends.npu.interpreter import Interpreter
from sdk.backends.nxp.neutron.arithmetic import interpreter_of
from sdk.backends.nxp.neutron.compiler import COMPILER
from sdk.backends.nxp.neutron.payload import network_of
from sdk.backends.reference import NamedData
from sdk.backends.reference import ReferenceProgram as _ReferenceProgram


class ReferenceProgram(_ReferenceProgram):
    """A `.pte` program whose delegates are all of Neutron: reference payloads, and networks that this process
    compiled."""

    BACKEND_ID = "NeutronBackend"
    TITLE = "Neutron"

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> Interpreter:
        return interpreter_of(graph_for(COMPILER.title, network_of(payload), named_data))
