# SPDX-License-Identifier: BSD-3-Clause
"""Operators that models use and that are not in the Core ATen set: exported, lowered, and compared with eager mode."""

from __future__ import annotations

import json
import time

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from zoo.function import Function

X = torch.tensor([[0.5, -1.25, 3.0, 0.0, -0.0, 2.0], [-7.0, 1.0, 1.5, 4.0, 0.25, -2.0]])
SIGNS = torch.tensor([1.0, -1.0, 0.0, -0.0, 5.0, -5.0])
NAN = torch.tensor([[1.0, float("nan"), 2.0], [3.0, 1.0, 2.0], [5.0, float("nan"), 4.0]])
LARGE = torch.tensor([0.0, 1e30, float("inf"), 3.0])
IMAGE = torch.arange(128.0).remainder(13).reshape(1, 2, 8, 8)

PADDED = {dims: torch.arange(2.0 * 3**dims).reshape(1, 2, *[3] * dims) for dims in (1, 2, 3)}


def _padded(mode, dims):
    return lambda x: F.pad(x, [1, 2] * dims, mode=mode)


# None stands for the range of the values.
RANGES = (None, (0.0, 0.0), (2.0, 2.0), (-1.0, 1.0))
POINTS = {"ones": torch.ones(4, 2), "nothing": torch.zeros(0, 2), "values": X.reshape(6, 2)}


def _histograms(x):
    some = [torch.histogram(x.reshape(-1), 3, range=given) for given in RANGES]
    many = [torch.histogramdd(x, [2, 3], range=given and [*given, 0.0, 0.0]) for given in RANGES]
    return some, many, torch.histc(x, 3), torch.histc(x, 3, 2, 2)


CASES = {
    **{f"histograms of {name}": (_histograms, (points,)) for name, points in POINTS.items()},
    "fractional_max_pool_of_no_batch": (
        lambda x, at: torch.ops.aten.fractional_max_pool3d(x, [2, 2, 2], [1, 2, 2], at),
        (torch.zeros(0, 2, 3, 4, 4), torch.zeros(0, 2, 3)),
    ),
    "grid_sample_of_no_batch": (
        lambda x, grid: F.grid_sample(x, grid),
        (torch.zeros(0, 2, 3, 4, 4), torch.zeros(0, 1, 2, 2, 3)),
    ),
    "is_all_true": (lambda x: (torch._is_all_true(x > -8), torch._is_all_true(x > 0)), (X,)),
    "is_any_true": (lambda x: (torch._is_any_true(x > 8), torch._is_any_true(x > 0)), (X,)),
    "copysign": (lambda x, y: torch.copysign(x, y), (X, SIGNS)),
    "copysign_number": (lambda x: torch.copysign(x, -2.0), (X,)),
    "hypot": (lambda x, y: torch.hypot(x, y), (LARGE, torch.tensor([0.0, 1e30, 1.0, 4.0]))),
    "median_of_all": (lambda x: torch.median(x), (X,)),
    "median": (lambda x: torch.median(x, 1).values, (X,)),
    "median_of_nan": (lambda x: torch.median(x, 0, keepdim=True), (NAN,)),
    "kthvalue": (lambda x: torch.kthvalue(x, 2), (X,)),
    "unfold": (lambda x: x.unfold(1, 2, 2), (X,)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 4)), (IMAGE,)),
    "max_pool2d_without_stride": (lambda x: F.max_pool2d(x, 2), (IMAGE,)),
    **{
        f"{mode} of {dims} dimensions": (_padded(mode, dims), (PADDED[dims],))
        for mode in ("reflect", "replicate")
        for dims in PADDED
    },
    "shift_left": (lambda x: x << 2, (torch.tensor([1, -3, 8], dtype=torch.int32),)),
    "shift_right": (lambda x, y: x >> y, (torch.tensor([8, -8, 3]), torch.tensor([1, 2, 0]))),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), (X,)),
    "bucketize_right": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True), (X,)),
    "std_mean": (lambda x: torch.std_mean(x, 1), (X,)),
    "var_mean": (lambda x: torch.var_mean(x, 1, correction=0), (X,)),
    "rrelu_in_eval_mode": (lambda x: F.rrelu(x, training=False), (X,)),
    "channels_last_then_add": (lambda x: x.to(memory_format=torch.channels_last) + x, (IMAGE,)),
    "channels_last_in_formulas": (lambda x: (x.to(memory_format=torch.channels_last) * 2 - x) / (x + 1), (IMAGE,)),
    "max": (lambda x: torch.max(x, 1), (X,)),
    "aminmax": (lambda x: torch.aminmax(x, dim=1), (X,)),
    "sort": (lambda x: {"sorted": torch.sort(x[1])}, (X,)),
    "topk": (lambda x: torch.topk(x, 2), (X,)),
    "take": (lambda x, i: torch.take(x, i), (X, torch.tensor([[0, -1, 11], [-12, 5, 5]]))),
    **{
        f"bytes_as_{str(dtype).removeprefix('torch.')}": (lambda x, dtype=dtype: x.view(dtype), (IMAGE,))
        for dtype in (torch.int32, torch.int64, torch.int16, torch.uint8)
    },
    "bytes_of_a_bool": (lambda x: (x > 0).view(torch.uint8) + (x > 0).view(torch.int8), (X[0, 2],)),
    "bytes_in_another_order": (lambda x: x.transpose(0, 2).contiguous().view(torch.float64), (IMAGE,)),
    "take_one": (lambda x, i: torch.take(x, i), (X, torch.tensor(-3))),
    "take_of_one": (lambda x, i: torch.take(x, i), (X[0, 1], torch.tensor([0, -1]))),
    "linspace_of_integers": (lambda x: x + torch.linspace(4.3, -3, 50, dtype=torch.int64), (torch.zeros(()),)),
    "linspace_of_an_odd_number": (lambda x: x + torch.linspace(0, 7, 51, dtype=torch.int32), (torch.zeros(()),)),
    "linspace_between_tensors": (lambda x, y: torch.linspace(x, y, 8, dtype=torch.uint8), (X[0, 2], X[1, 3] * 50)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_same_numbers_as_eager(name):
    """DIA-02: each operator is decomposed, or lowered as an operator for which the runtime has a kernel."""
    function, args = CASES[name]
    edge = to_edge(export(Function(function), args))
    want = torch.utils._pytree.tree_leaves(function(*args))
    for got in (
        torch.utils._pytree.tree_leaves(edge.exported_program().module()(*args)),
        _load_for_executorch_from_buffer(edge.to_executorch().buffer).forward(args),
    ):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize("training", [F.dropout2d, F.feature_alpha_dropout, F.alpha_dropout])
def test_channels_are_dropped_in_training(training):
    """`bernoulli` decides at random: whole channels keep their places, and about half of the numbers are zero."""
    x = torch.rand(4, 64, 3, 3) + 0.1
    program = to_edge(export(Function(lambda x: training(x, 0.5, training=True)), (x,))).to_executorch()
    (found,) = _load_for_executorch_from_buffer(program.buffer).forward((x,))
    kept = found != found.amin()
    assert 0.3 < kept.float().mean() < 0.7
    if training is not F.alpha_dropout:
        assert torch.equal(kept, kept[..., :1, :1].expand_as(kept))
    if training is F.dropout2d:
        torch.testing.assert_close(found[kept], 2 * x[kept])


def test_bernoulli():
    def draw(x, p):
        return torch.bernoulli(x, 0.25), torch.bernoulli(p.expand(100, 2)), x.clone().bernoulli_(p[1])

    program = to_edge(export(Function(draw), (torch.ones(40, 40), torch.tensor([0.0, 1.0])))).to_executorch()
    found = _load_for_executorch_from_buffer(program.buffer).forward((torch.ones(40, 40), torch.tensor([0.0, 1.0])))
    assert 0.18 < found[0].mean() < 0.32 and set(found[0].unique().tolist()) == {0.0, 1.0}
    assert torch.equal(found[1], torch.tensor([0.0, 1.0]).expand(100, 2)) and torch.equal(found[2], torch.ones(40, 40))


def test_numbers_among_float64_are_not_rounded():
    """Python numbers keep their float64 values: 0.1 in float32 is a different number."""

    def function(x, y):
        return x * 0.1, 0.1 - x, x / 0.3, x + y * 0.1, torch.where(x > 0, x * 0.7, 0.1)

    args = (X.double(), torch.tensor(0.7, dtype=torch.float64))
    program = to_edge(export(Function(function), args)).to_executorch()
    for a, b in zip(_load_for_executorch_from_buffer(program.buffer).forward(args), function(*args), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_structure_of_named_tuples():
    """Outputs with named fields are stored as tuples."""
    manager = to_edge(export(Function(lambda x: {"a": torch.max(x, 1), "b": x + 1}), (X,))).to_executorch()
    kind = manager.executorch_program.execution_plan[0].container_meta_type
    _, tree = json.loads(kind.encoded_out_str)
    assert tree["type"] == "builtins.dict"
    assert tree["children_spec"][0]["type"] == "builtins.tuple"
    assert len(tree["children_spec"][0]["children_spec"]) == 2


def test_an_lstm_of_many_steps_is_lowered_in_seconds():
    """For two layers and fifty steps, everything after torch.export takes seconds, not minutes."""
    model = torch.nn.LSTM(8, 16, num_layers=2, batch_first=True).eval()
    args = (torch.randn(1, 50, 8),)
    program = export(model, args)
    start = time.process_time()
    buffer = to_edge(program).to_executorch().buffer
    assert time.process_time() - start < 20  # About 3 on a desktop.
    want = torch.utils._pytree.tree_leaves(model(*args))
    for a, b in zip(_load_for_executorch_from_buffer(buffer).forward(args), want, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)


RESIZED = {
    "bilinear": lambda x: F.interpolate(x, size=(7, 9), mode="bilinear"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "pad": lambda x: F.pad(x, (0, 3, 1, 0)),
    "pad_and_convolution": lambda x: F.conv2d(F.pad(x, (0, 1, 0, 1)), torch.ones(2, 3, 2, 2), stride=2),
}


def test_a_short_time_fourier_transform_keeps_a_dynamic_batch():
    """PyTorch's definition of one overload requires plain integers as sizes in C++, and symbolic sizes are not."""

    def power(x):
        spectrum = torch.stft(x, 16, 4, window=torch.hann_window(16), center=True, return_complex=True)
        return torch.view_as_real(spectrum).square().sum(-1)

    program = export(Function(power), (torch.randn(2, 64),), dynamic_shapes=(({0: Dim("batch", min=1, max=4)},),))
    loaded = _load_for_executorch_from_buffer(to_edge(program).to_executorch().buffer)
    for batch in (1, 2, 4):
        x = torch.randn(batch, 64)
        torch.testing.assert_close(loaded.forward((x,))[0], power(x), rtol=1e-4, atol=1e-4)


def test_an_inverse_short_time_fourier_transform_of_a_batch_has_few_nodes():
    """The sum of the windows is one operator; PyTorch's decomposition has three operators for each of the 64
    positions."""

    def there_and_back(x):
        window = torch.hann_window(64)
        spectrum = torch.stft(x, 64, 16, window=window, return_complex=True)
        return torch.istft(spectrum * 2, 64, 16, window=window, length=x.shape[1])

    program = export(
        Function(there_and_back), (torch.randn(2, 200),), dynamic_shapes=(({0: Dim("batch", min=1, max=4)},),)
    )
    edge = to_edge(program)
    assert len(edge.exported_program().graph.nodes) < 120
    assert not any("re-traced" in note for note in edge._report)
    loaded = _load_for_executorch_from_buffer(edge.to_executorch().buffer)
    for batch in (1, 2, 4):
        x = torch.randn(batch, 200)
        torch.testing.assert_close(loaded.forward((x,))[0], there_and_back(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("offs", [[2, 2, 6], [0, 0, 0], [3, 7, 7]])
def test_experts_of_transformers(offs):
    """Each group of rows is multiplied by a separate matrix. transformers has an operator for this."""
    pytest.importorskip("transformers.integrations.moe")
    args = (torch.randn(7, 5), torch.randn(3, 5, 4), torch.tensor(offs, dtype=torch.int32))
    grouped = torch.ops.transformers.grouped_mm_fallback
    edge = to_edge(export(Function(lambda *tensors: grouped(*tensors)), args))
    for got in (
        edge.exported_program().module()(*args),
        _load_for_executorch_from_buffer(edge.to_executorch().buffer).forward(args)[0],
    ):
        torch.testing.assert_close(got, grouped(*args))


@pytest.mark.parametrize("name", RESIZED)
def test_resizing_keeps_a_dynamic_batch(name):
    """An operator whose function in C++ requires plain integers as sizes keeps symbolic sizes symbolic."""

    def resize(x):
        # Sizes are evaluated anew after a permuted view.
        return RESIZED[name](x.permute(0, 2, 1).reshape(x.shape[0], -1, 4, 4))

    program = export(Function(resize), (torch.randn(2, 16, 3),), dynamic_shapes=(({0: Dim("batch", min=1, max=4)},),))
    loaded = _load_for_executorch_from_buffer(to_edge(program).to_executorch().buffer)
    for batch in (1, 2, 4):
        x = torch.randn(batch, 16, 3)
        torch.testing.assert_close(loaded.forward((x,))[0], resize(x), rtol=1e-5, atol=1e-5)


class Prefix(torch.nn.Module):
    """Sizes that depend on data: the number of columns of a state is an input plus two."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        n = count.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[1])
        keys = torch.cat([x[:, :n], torch.ones(2, 2)], 1)
        mask = (torch.arange(n + 2) < 3).unsqueeze(0).expand(2, -1)
        scores = torch.where(mask, keys, -1.0)
        return scores @ torch.cat([x[0, :n], torch.tensor([1.0, 2.0])]).unsqueeze(1).expand(-1, 3)


def test_sizes_that_depend_on_data_are_not_asked_for_their_values():
    """An expanded mask becomes a separate copy, and layouts are compared without knowing the sizes."""
    x = torch.arange(10.0).reshape(2, 5)
    program = export(Prefix(), (x, torch.tensor(3)))
    loaded = _load_for_executorch_from_buffer(to_edge(program).to_executorch().buffer)
    for count in (0, 1, 3, 5):
        (result,) = loaded.forward((x, torch.tensor(count)))
        torch.testing.assert_close(result, Prefix()(x, torch.tensor(count)))
