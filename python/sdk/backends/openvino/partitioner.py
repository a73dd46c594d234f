# SPDX-License-Identifier: BSD-3-Clause
"""`OpenvinoPartitioner`: delegates the supported parts of a model to `OpenvinoBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.openvino`."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from torch.export import ExportedProgram

from sdk.backends.openvino.operators import WHOLE
from sdk.backends.openvino.preprocess import (
    DEVICE,
    INCLUDE_IR,
    PRECISION,
    OpenvinoBackend,
    precision_of,
    read_specs,
)
from sdk.backends.openvino.support import OpenvinoSupport
from sdk.backends.partition import Skipped, SupportPartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec


class OpenvinoPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_spec: `CompileSpec("device", b"CPU")`, the default, or another device of OpenVINO's, and its properties,
            in capitals with the value as text: `CompileSpec("INFERENCE_PRECISION_HINT", b"bf16")`. Without this one a
            CPU computes in float32.
        op_types_to_skip: Names of operators that stay on kernels, for example `"aten.add.Tensor"`.
        op_names_to_skip: Names of nodes that stay on kernels.
        include_ir: Whether programs also contain the model itself (IR), which doubles their size. A device with another
            release of OpenVINO, or of another kind, then compiles it instead of failing to load.
    """

    prefix = "openvino"
    logger = logging.getLogger("sdk.backends.openvino")
    whole = WHOLE

    def __init__(
        self,
        compile_spec: Iterable[CompileSpec] = (),
        op_types_to_skip: Iterable[str] | None = None,
        op_names_to_skip: Iterable[str] | None = None,
        *,
        include_ir: bool = False,
    ) -> None:
        super().__init__()
        specs = list(compile_spec)
        given = read_specs(specs)
        device = given.get(DEVICE, "CPU")
        if DEVICE not in given:
            specs.append(CompileSpec(DEVICE, device.encode()))
        # The payload does not contain the precision for which it was compiled, so the compile specs do.
        specs += [
            CompileSpec(key, value.encode()) for key, value in precision_of(device).items() if PRECISION not in given
        ]
        if include_ir:
            specs.append(CompileSpec(INCLUDE_IR, b"1"))
        self._skipped = Skipped(op_types_to_skip, op_names_to_skip)
        self.delegation_spec = DelegationSpec(OpenvinoBackend.__name__, specs)

    def support(self, program: ExportedProgram) -> OpenvinoSupport:
        """Returns the object that decides which calls of a program OpenVINO gets."""
        return OpenvinoSupport(program, self._skipped)
