# SPDX-License-Identifier: BSD-3-Clause
"""Programs with complex numbers, from the export to the runtime: spectra, weights, inputs and outputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sdk.exir import to_edge
from sdk.runtime import Runtime


class SpectralFilter(nn.Module):
    """Filters in the frequency domain, as Fourier layers do."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, dtype=torch.complex64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        spectrum = torch.fft.rfft(x)
        return torch.fft.irfft(spectrum * self.weight, n=8), spectrum.abs()


class Parts(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = x * torch.conj_physical(y) + x
        return z, torch.view_as_real(z)


def run(module: nn.Module, *inputs: Tensor) -> list[Tensor]:
    program = torch.export.export(module.eval(), inputs)
    lowered = to_edge(program).to_executorch()
    return list(Runtime.get().load_program(lowered.buffer).load_method("forward").execute(list(inputs)))


def test_a_spectral_filter_runs() -> None:
    torch.manual_seed(0)
    module, x = SpectralFilter(), torch.randn(3, 8)
    for found, expected in zip(run(module, x), module(x), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_inputs_and_outputs(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, dtype=dtype), torch.randn(3, dtype=dtype)
    for found, expected in zip(run(Parts(), x, y), Parts()(x, y), strict=True):
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected)
