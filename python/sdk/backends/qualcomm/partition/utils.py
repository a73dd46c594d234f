# SPDX-License-Identifier: BSD-3-Clause
"""Reads the options in compile specs, and names the operators that are not decomposed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sdk.backends.graph.names import overloads
from sdk.backends.npu.compiler import REFERENCE
from sdk.backends.qualcomm.qnn.operators import WHOLE
from sdk.backends.qualcomm.serialization.qc_schema import QnnExecuTorchOptions
from sdk.backends.qualcomm.serialization.qc_schema_serialize import flatbuffer_to_option
from sdk.backends.qualcomm.utils.constants import QCOM_QNN_COMPILE_SPEC
from sdk.exir.backend.compile_spec_schema import CompileSpec


def generate_qnn_executorch_option(compiler_specs: Sequence[CompileSpec]) -> bytes:
    """The options in compile specs, as bytes. Raises ValueError for an unknown key, and if there are no options."""
    found: bytes | None = None
    for spec in compiler_specs:
        if spec.key == QCOM_QNN_COMPILE_SPEC:
            found = bytes(spec.value)
        elif spec.key != REFERENCE:
            raise ValueError(
                f"the compile specs of Qualcomm have {spec.key!r}; expected {QCOM_QNN_COMPILE_SPEC!r}, from "
                f"generate_qnn_executorch_compiler_spec, and possibly {REFERENCE!r}"
            )
    if found is None:
        raise ValueError(
            f"the compile specs of Qualcomm lack {QCOM_QNN_COMPILE_SPEC}: make them with "
            f"generate_qnn_executorch_compiler_spec of sdk.backends.qualcomm.utils.utils"
        )
    return found


def options_of(compiler_specs: Sequence[CompileSpec]) -> QnnExecuTorchOptions:
    """The options in compile specs. Raises ValueError for bytes that are not options, too."""
    return flatbuffer_to_option(generate_qnn_executorch_option(compiler_specs))


def get_skip_decomp_table() -> list[torch._ops.OpOverload]:
    """The operators that the exporter would decompose and QNN has."""
    return list(overloads(WHOLE))
