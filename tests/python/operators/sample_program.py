# SPDX-License-Identifier: BSD-3-Clause
"""A sample of PyTorch's operator database as a model: captured, lowered without a backend, run, compared with eager."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from conformance import MismatchError, Tolerance, is_no_worse, products
from torch import nn
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

from sdk.exir import to_edge
from sdk.runtime import Runtime

RANDOM = (
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand", "randint"),
    *("randn", "uniform", "pca_lowrank", "svd_lowrank", "randint_like", "rand_like", "randn_like"),
    *(
        f"nn.functional.{name}"
        for name in ("alpha_dropout", "dropout", "dropout2d", "dropout3d", "feature_alpha_dropout")
    ),
    *(f"nn.functional.{name}" for name in ("rrelu", "scaled_dot_product_attention", "multi_head_attention_forward")),
    *(f"nn.functional.{name}" for name in ("fractional_max_pool2d", "fractional_max_pool3d")),
)
"""Operators that draw random numbers in some samples. Where eager mode gives different results for two seeds, only
dtypes, shapes and layouts are compared."""

UNDEFINED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_")
"""Operators of which some or all results have undefined values; only the dtype, shape and layout are defined."""

_FACTORS = ("svd", "linalg.svd", "linalg.eigh", "svd_lowrank", "pca_lowrank")
"""Operators for which only the product of the results is defined, because each pair of vectors may have either sign."""


class Sample(nn.Module):
    """A call of an operator, whose tensors are the inputs of the model."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.function = function
        self.leaves, self.spec = pytree.tree_flatten((args, kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies, since some operators write to their arguments."""
        return tuple(self.leaves[i].detach().clone() for i in self.places)

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for i, tensor in zip(self.places, tensors, strict=True):
            leaves[i] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)

    def describe(self) -> str:
        """The arguments, tensors as dtype[shape]."""
        shown = [
            f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}" if isinstance(leaf, torch.Tensor) else leaf
            for leaf in self.leaves
        ]
        args, kwargs = pytree.tree_unflatten(shown, self.spec)
        return ", ".join([*map(str, args), *(f"{name}={value}" for name, value in kwargs.items())])


def samples(op: OpInfo, dtype: torch.dtype, seed: int | None = None) -> Iterator[Sample]:
    """PyTorch's samples of an operator in a dtype, with the random numbers of PyTorch's tests or of `seed`."""
    torch.manual_seed(seed or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in op.sample_inputs("cpu", dtype, requires_grad=False, set_seed=seed is None):
            yield Sample(op.op, (sample.input, *sample.args), sample.kwargs)


def tensors_of(values: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order."""
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a sample: one of the kinds below, and the first words of the error. If a sample is right only in a
    separate program, its outcome has a reason as well."""

    kind: str
    reason: str = ""


RIGHT = "right"
REFUSED = "refused"
"""Eager itself does not compute the sample."""
NOT_CAPTURED = "not captured"
"""torch.export gives no program."""
NOT_LOWERED = "not lowered"
"""The compiler refuses the program."""
NOT_RUN = "not run"
"""The runtime refuses the program or its inputs."""
WRONG = "wrong"


GROUP = 24
"""The number of samples that are lowered as one program. Capturing and lowering so many takes hardly longer than a few,
because most samples are one operator."""


class Group(nn.Module):
    """Several samples as one model, which has their inputs and results in sequence."""

    def __init__(self, members: Sequence[Sample]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def inputs(self) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for sample in self.members for tensor in sample.inputs())

    def forward(self, *tensors: torch.Tensor) -> list[Any]:
        left = iter(tensors)
        return [sample(*itertools.islice(left, len(sample.places))) for sample in self.members]


def attempt(op: OpInfo, members: Sequence[Sample], limits: dict[torch.dtype, Tolerance]) -> list[Outcome]:
    """Captures, lowers and runs samples, `GROUP` of them as one program. Each is compared separately. If a program
    fails, or a result is wrong, each sample is tried in a separate program. `limits` are (atol, rtol) by the dtype of a
    result."""
    outcomes: dict[int, Outcome] = {}
    eager: dict[int, list[torch.Tensor]] = {}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, sample in enumerate(members):
            try:
                eager[i] = tensors_of(sample(*sample.inputs()))
            except Exception as error:
                outcomes[i] = Outcome(REFUSED, _words(error))
        computed = list(eager)
        for start in range(0, len(computed), GROUP):
            places = computed[start : start + GROUP]
            expected = [eager[i] for i in places]
            together = _run(op, [members[i] for i in places], expected, limits)
            if len(places) > 1:
                for position, outcome in enumerate(together):
                    if outcome.kind != RIGHT:
                        i = places[position]
                        (alone,) = _run(op, [members[i]], [eager[i]], limits)
                        together[position] = alone if alone.kind != RIGHT else Outcome(RIGHT, outcome.reason)
            outcomes.update(zip(places, together, strict=True))
    return [outcomes[i] for i in range(len(members))]


def _run(
    op: OpInfo, members: Sequence[Sample], expected: Sequence[list[torch.Tensor]], limits: dict[torch.dtype, Tolerance]
) -> list[Outcome]:
    """Returns the outcomes of samples in one program. A failure of the program is the outcome of each."""
    model = Group(members)
    kind = NOT_CAPTURED
    try:
        captured = torch.export.export(model, model.inputs())
        kind = NOT_LOWERED
        buffer = to_edge(captured).to_executorch().buffer
        kind = NOT_RUN
        method = Runtime.get().load_program(buffer).load_method("forward")
        found = iter(tensors_of(method.execute(list(model.inputs()))))
    except Exception as error:
        return [Outcome(kind, _words(error))] * len(members)
    outcomes = []
    for i, (sample, wanted) in enumerate(zip(members, expected, strict=True)):
        # The last output takes all results that are left, so that none is lost.
        results = list(itertools.islice(found, len(wanted) if i + 1 < len(members) else None))
        try:
            compare(op, sample, results, wanted, limits)
        except AssertionError as error:
            outcomes.append(Outcome(WRONG, _words(error)))
        else:
            outcomes.append(Outcome(RIGHT))
    return outcomes


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def compare(
    op: OpInfo,
    sample: Sample,
    found: list[torch.Tensor],
    expected: list[torch.Tensor],
    limits: dict[torch.dtype, Tolerance],
) -> None:
    """Raises MismatchError unless number, dtypes, shapes and layouts of the results are eager's, and their values as
    far as the operator defines them."""
    expected = [tensor.resolve_conj().resolve_neg() for tensor in expected]
    if len(found) != len(expected):
        raise MismatchError(f"{len(found)} results; eager gives {len(expected)}")
    for ours, theirs in zip(found, expected, strict=True):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            raise MismatchError(f"{ours.dtype}{list(ours.shape)}; eager gives {theirs.dtype}{list(theirs.shape)}")
        # A program has no views: a result with another layout than eager's is in the order of its dimensions.
        if not ours.is_contiguous() and _order(ours) != _order(theirs):
            raise MismatchError(f"strides {ours.stride()}; eager gives {theirs.stride()}")
    if op.name in UNDEFINED or (op.name in RANDOM and _is_random(sample, expected)):
        return
    if op.name in _FACTORS:
        found, expected = _products(op, found), _products(op, expected)
    exact: list[torch.Tensor] | None = None
    for position, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        atol, rtol = limits.get(theirs.dtype, (0.0, 0.0))
        try:
            torch.testing.assert_close(ours, theirs, equal_nan=True, check_stride=False, atol=atol, rtol=rtol)
        except AssertionError as error:
            if theirs.dtype == torch.int64 and _chooses_equals(sample, ours, theirs):
                continue
            exact = exact or (_in_double(sample) if op.name not in _FACTORS else None)
            if exact and ours.dtype.is_floating_point and is_no_worse(ours, theirs, exact[position]):
                continue
            raise MismatchError(f"result {position}: {error}") from None


def _order(tensor: torch.Tensor) -> list[int]:
    """The dimensions that have more than one element, from the outermost in memory to the innermost."""
    dims = [dim for dim, size in enumerate(tensor.shape) if size > 1]
    return sorted(dims, key=lambda dim: -tensor.stride(dim))


def _is_random(sample: Sample, expected: list[torch.Tensor]) -> bool:
    state = torch.get_rng_state()
    torch.manual_seed(1)
    again = tensors_of(sample(*sample.inputs()))
    torch.set_rng_state(state)
    return not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(again, expected, strict=True)) or bool(
        getattr(sample.function, "__name__", "") == "<lambda>"  # a wrapper that sets the seed itself
    )


def _chooses_equals(sample: Sample, ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Whether two results are indices, along one dimension of the first input, of elements that are equal: sort, topk,
    kthvalue, median and others may choose any of these."""
    source = sample.leaves[sample.places[0]] if sample.places else torch.zeros(())
    if ours.numel() == 0 or source.numel() == 0 or int(ours.min()) < 0:
        return False
    flat = source.reshape(-1)
    if int(ours.max()) < flat.numel() and torch.equal(_keys(flat[ours]), _keys(flat[theirs])):
        return True
    for dim in range(source.dim()):
        a, b = (index if index.dim() == source.dim() else index.unsqueeze(dim) for index in (ours, theirs))
        if a.dim() != source.dim() or int(a.max()) >= source.shape[dim]:
            continue
        fits = all(n <= m for d, (n, m) in enumerate(zip(a.shape, source.shape, strict=True)) if d != dim)
        if fits and torch.equal(_keys(source.gather(dim, a)), _keys(source.gather(dim, b))):
            return True
    return False


def _keys(values: torch.Tensor) -> torch.Tensor:
    return values.nan_to_num(nan=0.125) if values.is_floating_point() else values


def _products(op: OpInfo, results: list[torch.Tensor]) -> list[torch.Tensor]:
    if len(results) < 2 or any(result.numel() == 0 for result in results):
        return results
    if op.name in ("svd", "svd_lowrank", "pca_lowrank"):  # these give V, not its transpose
        results = [*results[:2], results[2].mT]
    return products(results)


def _in_double(sample: Sample) -> list[torch.Tensor] | None:
    """Computes the results of eager from float64 copies of all floating-point inputs, and in float64 if an argument
    names another floating-point dtype; None if eager does not accept them."""
    wide = copy.copy(sample)
    wide.leaves = [
        torch.float64 if isinstance(leaf, torch.dtype) and leaf.is_floating_point else leaf for leaf in sample.leaves
    ]
    try:
        return tensors_of(wide(*(x.double() if x.is_floating_point() else x for x in sample.inputs())))
    except Exception:
        return None
