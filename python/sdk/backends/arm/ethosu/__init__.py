# SPDX-License-Identifier: BSD-3-Clause
"""Arm's Ethos-U NPUs: `EthosUPartitioner` delegates parts of a quantised model, and Arm's compiler Vela compiles them
to command streams."""

from sdk.extras import lazily

_PLACES = {
    "EthosUBackend": "sdk.backends.arm.ethosu.backend",
    "EthosUCompileSpec": "sdk.backends.arm.ethosu.compile_spec",
    "EthosUPartitioner": "sdk.backends.arm.ethosu.partitioner",
}

__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
