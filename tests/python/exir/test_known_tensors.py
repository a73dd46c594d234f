# SPDX-License-Identifier: BSD-3-Clause
"""Tensors whose values are known when a program is compiled: results of operators without tensor arguments, and
expanded constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.operator.aten_rules import decomposition_of, makes_known_tensor
from sdk.runtime import Runtime


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def check(
    model: nn.Module, example: tuple[Tensor, ...], calls: list[tuple[Tensor, ...]] | None = None, **options: Any
) -> None:
    exported = export(model, example, dynamic_shapes=options.pop("dynamic", None))
    lowered = to_edge_transform_and_lower(exported, **options).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for inputs in calls or [example]:
        with torch.no_grad():
            expected = model(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for found, wanted in zip(method.execute(list(inputs)), expected, strict=True):
            torch.testing.assert_close(found, wanted, equal_nan=True)


def known_operators() -> list[Any]:
    found = []
    for name in sorted({schema.name[6:] for schema in torch._C._jit_get_all_schemas() if schema.name[:6] == "aten::"}):
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if isinstance(packet, torch._ops.OpOverloadPacket) else ():
            if name in ("as_tensor", "tensor", "_list_to_tensor"):
                continue  # of TorchScript
            op = getattr(packet, overload)
            if (
                makes_known_tensor(op)
                and decomposition_of(op, frozenset()) is None
                and op.name()[6:].lstrip("_") not in LEFT_OUT
            ):
                found.append(op)
    return found


LEFT_OUT = {
    "efficientzerotensor",
    "empty_affine_quantized",
    "from_file",
    "make_dep_token",
    "sparse_compressed_tensor_with_dims",
    "sparse_coo_tensor.size",
    "sparse_coo_tensor_with_dims",
}
"""Functions whose results are not dense tensors of numbers."""

VALUES = {
    "window_length": 6,
    "n": 6,
    "start": 1,
    "end": 5,
    "d": 0.5,
    "periodic": True,
    "alpha": 0.5,
    "beta": 0.25,
    "step": 2,
}


@pytest.mark.sampled
@pytest.mark.parametrize("op", known_operators(), ids=str)
@pytest.mark.parametrize("dtype", [None, torch.float64, torch.float16], ids=str)
def test_operators_of_numbers_alone(op: Any, dtype: torch.dtype | None) -> None:
    arguments = [VALUES[a.name] for a in op._schema.arguments if not a.kwarg_only and a.name in VALUES]
    options = {} if dtype is None else {"dtype": dtype}
    made = op(*arguments, **options)
    check(Call(lambda x: (op(*arguments, **options), x * op(*arguments, **options))), (torch.rand(made.shape),))


def test_the_operators_are_windows_and_frequencies() -> None:
    names = {op.name().split("::")[1].split(".")[0] for op in known_operators()}
    windows = {f"{name}_window" for name in ("bartlett", "blackman", "hamming", "kaiser")}
    assert names == windows | {"fft_fftfreq", "fft_rfftfreq", "range"}


def test_windows_in_branches_and_spectra() -> None:
    def either(x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x * torch.hamming_window(8), lambda x: x * torch.fft.fftfreq(8), (x,))

    def spectrum(x: Tensor) -> Tensor:
        return torch.stft(x, 8, window=torch.hamming_window(8), return_complex=True).abs()

    check(Call(either), (torch.rand(8),), [(torch.rand(8),), (-torch.rand(8),)])
    check(Call(spectrum), (torch.rand(32),))


def test_random_numbers_are_not_known() -> None:
    for op in (torch.ops.aten.rand.default, torch.ops.aten.randn.default, torch.ops.aten.randint.default):
        assert not makes_known_tensor(op)


class Expanded(nn.Module):
    """A buffer, a parameter and a constant that repeat their elements in memory."""

    def __init__(self, value: Tensor, persistent: bool = True) -> None:
        super().__init__()
        self.register_buffer("buffer", value, persistent=persistent)
        self.parameter = nn.Parameter(torch.ones(3, 1).expand(3, 4).detach())

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x + self.buffer, (x * self.buffer).t() @ x, self.parameter * x


BUFFERS = {
    "scalar": torch.tensor(2.0).expand(3, 4),
    "row": torch.arange(4.0).expand(3, 4),
    "column": torch.arange(3.0).reshape(3, 1).expand(3, 4),
    "integers": torch.tensor([1, 2, 3, 4]).expand(3, 4),
    "halves": torch.tensor(2.0).half().expand(3, 4),
    "bools": torch.tensor([True]).expand(4),
}
PARTITIONERS = {"kernels": [], "xnnpack": [XnnpackPartitioner()]}


@pytest.mark.sampled
@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
@pytest.mark.parametrize("name", BUFFERS)
def test_expanded_buffers_are_stored_whole(name: str, partitioner: list[Any]) -> None:
    for persistent in (True, False):
        check(Expanded(BUFFERS[name], persistent), (torch.rand(3, 4),), partitioner=partitioner)


EXAMPLES = {
    "row": torch.rand(1, 4).expand(3, 4),
    "column": torch.rand(3, 1).expand(3, 4),
    "scalar": torch.tensor(1.5).expand(3, 4),
    "image": torch.rand(1, 1, 4, 4).expand(1, 3, 4, 4),
}


@pytest.mark.sampled
@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_expanded_example_inputs_are_accepted(name: str, partitioner: list[Any]) -> None:
    """The program accepts any tensor of these sizes, like a program that was exported with a dense example."""
    x = EXAMPLES[name]
    model = Call(lambda x: (x + 1, x.transpose(-1, -2).contiguous(), x @ x.transpose(-1, -2), x.clone()))
    check(model, (x,), [(x,), (torch.rand(x.shape),)], partitioner=partitioner)
    if x.dim() == 2:
        calls = [(torch.rand(n, 4),) for n in (1, 3, 8)]
        check(Call(lambda x: (x + 1, x.t().contiguous(), x.clone())), (x,), calls, dynamic=(({0: Dim("n", max=8)},),),
              partitioner=partitioner)  # fmt: skip


ROOTS = torch.tensor([float("-inf"), float("inf"), -1.0, 4.0, 0.0, -0.0, float("nan"), 20000.0])


@pytest.mark.sampled
@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("exponent", [0.5, -0.5, 0.25, 2.0, -1.0])
def test_powers_of_special_numbers(exponent: float, dtype: torch.dtype, partitioner: list[Any]) -> None:
    """PyTorch computes roots of float16 as powers: the root of -inf is inf."""
    check(Call(lambda x: torch.pow(x, exponent)), (ROOTS.to(dtype),), partitioner=partitioner)


@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
def test_matrix_products_of_int8(partitioner: list[Any]) -> None:
    a = torch.randint(-128, 128, (20, 16), dtype=torch.int8)
    b = torch.randint(-128, 128, (16, 8), dtype=torch.int8)
    check(Call(torch._int_mm), (a, b), partitioner=partitioner)


@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
def test_int8_weights_and_dynamic_activations_of_torchao(partitioner: list[Any]) -> None:
    quantization = pytest.importorskip("torchao.quantization")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8)).eval()
    quantization.quantize_(model, quantization.Int8DynamicActivationInt8WeightConfig())
    check(model, (torch.randn(20, 32),), [(torch.randn(20, 32),) for _ in range(3)], partitioner=partitioner)
