# SPDX-License-Identifier: BSD-3-Clause
"""`TosaCompileSpec`: lowers to TOSA alone, without a backend's own compiler."""

from __future__ import annotations

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.specification import TosaSpecification


class TosaCompileSpec(ArmCompileSpec):
    """The payload is the TOSA file. `tosa_spec` is for example "TOSA-1.0+FP"."""

    output_format = "tosa"

    def __init__(self, tosa_spec: TosaSpecification | str) -> None:
        super().__init__(tosa_spec)


TOSACompileSpec = TosaCompileSpec
