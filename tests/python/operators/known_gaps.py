# SPDX-License-Identifier: BSD-3-Clause
"""Differences between the portable library and eager mode, each with the reason. The tests fail on an entry that
passes, so that fixed differences are removed."""

from __future__ import annotations

NOT_REACHED: dict[str, str] = {}
"""Operators of functions.yaml that neither an OpInfo nor extra_calls.py calls, and how they are tested instead."""

_REAL_ONLY = (
    *("_linalg_eigh.eigenvalues", "_linalg_svd.U", "geqrf.a", "linalg_cholesky_ex.L", "linalg_householder_product.out"),
    *("linalg_lu_factor_ex.out", "linalg_solve_triangular.out", "logcumsumexp.out", "lu_unpack.out"),
)

GAPS: dict[tuple[str, str], str] = {
    (name, dtype): "real numbers only" for name in _REAL_ONLY for dtype in ("complex64", "complex128")
}
"""(operator, dtype) that fails for some arguments."""

ACCEPTED: dict[str, str] = {"cat.out": "tensors without elements are left out whatever their shape, as in ExecuTorch"}
"""Operators that take tensors without elements where eager refuses them."""
