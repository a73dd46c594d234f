# SPDX-License-Identifier: BSD-3-Clause
"""TOSA, the operator set of Arm's accelerators: `TOSAPartitioner` with a `TosaCompileSpec` turns each partition of a
model into a TOSA file."""

from sdk.extras import lazily

_PLACES = {
    "TOSABackend": "sdk.backends.arm.tosa.backend",
    "TOSACompileSpec": "sdk.backends.arm.tosa.compile_spec",
    "TOSAPartitioner": "sdk.backends.arm.tosa.partitioner",
    "TosaCompileSpec": "sdk.backends.arm.tosa.compile_spec",
    "TosaSpecification": "sdk.backends.arm.tosa.specification",
}
__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
