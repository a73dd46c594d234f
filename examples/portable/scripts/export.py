# SPDX-License-Identifier: BSD-3-Clause
"""Exports a small model for the portable kernels. With the package installed:

    python -m sdk.examples.portable.scripts.export --model_name=add

writes add.pte to the working directory, or to --output_dir. In the repository,
`python -m examples.portable.scripts.export` does the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn

from sdk.exir import to_edge
from sdk.extension.export_util.utils import save_pte_program


class Add(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x + y
        z = z + x
        z = z + x
        return z + z


class AddMul(nn.Module):
    def forward(self, a: Tensor, x: Tensor, b: Tensor) -> Tensor:
        return a @ x + b


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(-1)


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    "add": lambda: (Add(), (torch.ones(1), torch.ones(1))),
    "add_mul": lambda: (AddMul(), (torch.ones(2, 2), torch.full((2, 2), 2.0), torch.full((2, 2), 3.0))),
    "linear": lambda: (nn.Linear(3, 3), (torch.ones(3, 3),)),
    "softmax": lambda: (Softmax(), (torch.ones(2, 2),)),
    "cond": lambda: (Branch(), (torch.ones(2, 3),)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument("-o", "--output_dir", default=".", help="default: the working directory")
    options = parser.parse_args()
    model, inputs = MODELS[options.model_name]()
    program = to_edge(torch.export.export(model.eval(), inputs)).to_executorch()
    print("Wrote", save_pte_program(program, options.model_name, options.output_dir))


if __name__ == "__main__":
    main()
