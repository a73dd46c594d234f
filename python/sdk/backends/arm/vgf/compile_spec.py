# SPDX-License-Identifier: BSD-3-Clause
"""`VgfCompileSpec`: the subset of TOSA that a VGF file may use, and the options of the converter."""

from __future__ import annotations

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.specification import TosaSpecification

DEFAULT = "TOSA-1.0+FP+INT+int4+int16"


class VgfCompileSpec(ArmCompileSpec):
    """Options for devices with Vulkan's VK_ARM_tensors and VK_ARM_data_graph.

    Args:
        tosa_spec: A TosaSpecification or its text. None means TOSA 1.0 with floats, integers, int4 weights and int16
            activations.
        compiler_flags: Options of the ML SDK model converter, each an element of the list.
    """

    output_format = "vgf"

    def __init__(
        self, tosa_spec: TosaSpecification | str | None = None, compiler_flags: list[str] | None = None
    ) -> None:
        super().__init__(DEFAULT if tosa_spec is None else tosa_spec, compiler_flags)
