# SPDX-License-Identifier: BSD-3-Clause
"""The options of Arm's Ethos-U NPUs. What an Ethos-U has of TOSA is quantised and lowered; the compiler that makes its
command stream of a TOSA file, Vela, is not called here."""

from sdk.backends.arm.ethosu.compile_spec import EthosUCompileSpec

__all__ = ["EthosUCompileSpec"]
