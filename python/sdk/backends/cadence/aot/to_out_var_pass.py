# SPDX-License-Identifier: BSD-3-Clause
"""`CadenceToOutVarPass`."""

from __future__ import annotations

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.exir.passes import ToOutVarPass


class CadenceToOutVarPass(ToOutVarPass):
    """`ToOutVarPass`, which keeps `cadence::slice_scatter_`: it writes to its first operand and has no out variant."""
