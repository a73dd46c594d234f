# SPDX-License-Identifier: BSD-3-Clause
"""Linear algebra, decomposed into the factorizations that kernels compute: LU, Cholesky, QR, SVD and symmetric
eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _lu_factor(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    lu, pivots, info = aten.linalg_lu_factor_ex(a)
    return lu, pivots, info


def _lu(a: Tensor, *, pivot: bool = True) -> Any:
    if not pivot:
        return NotImplemented
    lu, pivots, _ = _lu_factor(a)
    return aten.lu_unpack(lu, pivots)


def _solve_triangular(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Expands both to the same batch shape, which the kernel requires."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.shape[:-2] == b.shape[:-2]:
        return NotImplemented
    a, b = (t.expand([*batch, *t.shape[-2:]]).contiguous() for t in (a, b))
    return aten.linalg_solve_triangular(a, b, upper=upper, left=left, unitriangular=unitriangular)


def _lu_solve(lu: Tensor, pivots: Tensor, b: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Since P L U = A, A X = B is P L U X = B. The adjoint is U^T L^T P^T X = B, and X A = B is A^T X^T = B^T."""
    if not left:
        return _lu_solve(lu, pivots, b.mT, adjoint=not adjoint).mT.contiguous()
    batch = torch.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    lu = lu.expand([*batch, *lu.shape[-2:]]).contiguous()
    pivots = pivots.expand([*batch, pivots.shape[-1]]).contiguous()
    b = b.expand([*batch, *b.shape[-2:]])
    p, _, _ = aten.lu_unpack(lu, pivots, False, True)
    solve = aten.linalg_solve_triangular
    if adjoint:
        upper = lu.mT.contiguous()
        y = solve(upper, b.contiguous(), upper=False)
        return p @ solve(upper, y, upper=True, unitriangular=True)
    y = solve(lu, (p.mT @ b).contiguous(), upper=False, unitriangular=True)
    return solve(lu, y, upper=True)


def _solve(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    lu, pivots, info = aten.linalg_lu_factor_ex(a, check_errors=check_errors)
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    x = _lu_solve(lu, pivots, b.unsqueeze(-1) if is_vector else b, left=left or is_vector)
    return x.squeeze(-1) if is_vector else x, lu, pivots, info


def _inverse(a: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    identity = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)
    x, _, _, info = _solve(a, identity, check_errors=check_errors)
    return x, info


def _sign_of_exchanges(pivots: Tensor) -> Tensor:
    """The sign of the permutation: 1 if the number of row exchanges is even, otherwise -1."""
    places = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
    return 1 - 2 * ((pivots != places).sum(-1) % 2)


def _diagonal(a: Tensor) -> Tensor:
    return torch.diagonal(a, 0, -2, -1)


def _determinant(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    lu, pivots, _ = _lu_factor(a)
    return torch.prod(_diagonal(lu), -1) * _sign_of_exchanges(pivots).to(a.dtype), lu, pivots


def _sign_and_logarithm_of_determinant(a: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    lu, pivots, _ = _lu_factor(a)
    diagonal = _diagonal(lu)
    sign = torch.prod(torch.sign(diagonal), -1) * _sign_of_exchanges(pivots).to(a.dtype)
    return sign, torch.log(torch.abs(diagonal)).sum(-1), lu, pivots


def _cholesky(a: Tensor, upper: bool = False) -> Tensor:
    return aten.linalg_cholesky_ex(a, upper=upper, check_errors=True)[0]


def _lower(factor: Tensor, upper: bool) -> Tensor:
    return factor.mT.contiguous() if upper else factor


def _cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    batch = torch.broadcast_shapes(b.shape[:-2], factor.shape[:-2])
    factor = _lower(factor, upper).expand([*batch, *factor.shape[-2:]]).contiguous()
    y = aten.linalg_solve_triangular(factor, b.expand([*batch, *b.shape[-2:]]).contiguous(), upper=False)
    return aten.linalg_solve_triangular(factor.mT.contiguous(), y, upper=True)


def _cholesky_inverse(factor: Tensor, upper: bool = False) -> Tensor:
    return _cholesky_solve(torch.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape), factor, upper)


def _triangular_solve(
    b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    batch = torch.broadcast_shapes(b.shape[:-2], a.shape[:-2])
    a, b = (t.expand([*batch, *t.shape[-2:]]).contiguous() for t in (a, b))
    matrix = a.mT.contiguous() if transpose else a
    x = aten.linalg_solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return x, a.clone()


def _padded_columns(a: Tensor, columns: int) -> Tensor:
    missing = columns - a.shape[-1]
    return torch.constant_pad_nd(a, [0, missing]) if missing else a


def _qr(a: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    rows, columns = a.shape[-2:]
    packed, tau = aten.geqrf(a)
    r = torch.triu(packed)
    if mode == "r":
        return torch.empty([0], dtype=a.dtype), r[..., : min(rows, columns), :].contiguous()
    if mode == "complete":
        packed = packed[..., : min(rows, columns)] if columns > rows else packed
        return aten.linalg_householder_product(_padded_columns(packed, rows), tau), r
    small = min(rows, columns)
    q = aten.linalg_householder_product(packed[..., :small].contiguous(), tau)
    return q, r[..., :small, :].contiguous()


def _multiply_by_q(a: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    rows = a.shape[-2]
    q = aten.linalg_householder_product(_padded_columns(a[..., : tau.shape[-1]], rows), tau)
    q = q.mT if transpose else q
    return q @ other if left else other @ q


def _pseudo_inverse(
    a: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    if a.numel() == 0:
        return torch.empty([*a.shape[:-2], a.shape[-1], a.shape[-2]], dtype=a.dtype)
    if rtol is None:
        rtol = torch.full([], max(a.shape[-2:]) * torch.finfo(a.dtype).eps, dtype=a.dtype)
        rtol = rtol if atol is None else torch.where(atol > 0, 0.0, rtol)
    atol = torch.zeros([], dtype=a.dtype) if atol is None else atol
    if hermitian:
        values, vectors = aten._linalg_eigh(a)
        sizes = torch.abs(values)
        limit = torch.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * torch.amax(sizes, -1, True))
        inverse = torch.where(sizes > limit, torch.reciprocal(values), 0.0)
        return (vectors * inverse.unsqueeze(-2)) @ vectors.mT
    u, s, vh = aten._linalg_svd(a, False, True)
    limit = torch.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * s[..., :1])
    inverse = torch.where(s > limit, torch.reciprocal(s), 0.0)
    return (vh.mT * inverse.unsqueeze(-2)) @ u.mT


_TAYLOR_TERMS = 18
_SQUARINGS = 30


def _matrix_exponential(a: Tensor) -> Tensor:
    """Scaling and squaring. The number of squarings depends on the norm, which is only known at run time: each of a
    fixed number of steps squares the matrices that still need it."""
    if a.shape[-1] == 0:
        return a.clone()
    wide = a.to(torch.float64)
    norm = torch.amax(torch.abs(wide).sum(-2, keepdim=True), -1, True)
    squarings = torch.clamp(torch.ceil(torch.log2(torch.clamp(norm, min=1e-30))) + 1, 0, _SQUARINGS)
    scaled = wide * torch.exp2(-squarings)
    identity = torch.eye(a.shape[-1], dtype=torch.float64).expand(a.shape)
    result = identity
    for k in range(_TAYLOR_TERMS, 0, -1):
        result = identity + scaled @ result / k
    for step in range(_SQUARINGS):
        result = torch.where(squarings > step, result @ result, result)
    return result.to(a.dtype)


LINALG: dict[torch._ops.OperatorBase, Callable] = {
    aten._linalg_det.default: _determinant,
    aten._linalg_slogdet.default: _sign_and_logarithm_of_determinant,
    aten._linalg_solve_ex.default: _solve,
    aten.cholesky_inverse.default: _cholesky_inverse,
    aten.cholesky_solve.default: _cholesky_solve,
    aten.linalg_inv_ex.default: _inverse,
    aten.linalg_lu.default: _lu,
    aten.linalg_lu_solve.default: _lu_solve,
    aten.linalg_matrix_exp.default: _matrix_exponential,
    aten.linalg_pinv.atol_rtol_tensor: _pseudo_inverse,
    aten.linalg_qr.default: _qr,
    aten.linalg_solve_triangular.default: _solve_triangular,
    aten.ormqr.default: _multiply_by_q,
    aten.triangular_solve.default: _triangular_solve,
}
"""Maps each operator to the function that computes it."""

if hasattr(aten, "cholesky"):  # until PyTorch 2.13
    LINALG[aten.cholesky.default] = _cholesky
