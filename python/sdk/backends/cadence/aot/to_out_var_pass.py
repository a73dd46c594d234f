# SPDX-License-Identifier: BSD-3-Clause
"""`CadenceToOutVarPass`."""

from __future__ import annotations

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.exir.passes import ToOutVarPass


class CadenceToOutVarPass(ToOutVarPass):
    """`ToOutVarPass`; importing this module registers Cadence's operators. The pass leaves `cadence::slice_scatter_` as
    it is, as it does every in-place operator."""
