# SPDX-License-Identifier: BSD-3-Clause
"""`get_fake_program` and `update_to_real_program`."""

from __future__ import annotations

import torch
from torch._subclasses import FakeTensor
from torch.export import export

from sdk.exir.program._fake_program import get_fake_program, update_to_real_program


def test_fake_programs_have_no_weights():
    """Weights have no memory, constants are the real ones, and `update_to_real_program` gives the weights back."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.register_buffer("offset", torch.ones(3), persistent=False)

        def forward(self, x):
            return self.linear(x) + self.offset

    x = torch.ones(2, 3)
    real = export(Model(), (x,))
    fake = get_fake_program(real)
    assert {type(weight) for weight in fake.state_dict.values()} == {FakeTensor}
    assert {name: weight.shape for name, weight in fake.state_dict.items()} == {
        "linear.weight": (3, 3), "linear.bias": (3,)
    }  # fmt: skip
    assert fake.constants == real.constants and fake.constants["offset"] is real.constants["offset"]
    assert fake.graph_signature == real.graph_signature and fake.graph_signature is not real.graph_signature
    update_to_real_program(fake, real)
    torch.testing.assert_close(fake.module()(x), real.module()(x))
