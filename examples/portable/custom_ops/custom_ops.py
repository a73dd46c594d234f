# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model that calls my_ops::mul3 and my_ops::mul4. PyTorch runs the kernels of mul.cpp, too.

custom_ops.py LIBRARY MODEL.pte: LIBRARY is custom_ops_aot_lib, which registers the out variants. This file defines the
functional variants, which models call; the exporter replaces them by the out variants.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor

from sdk.exir import EdgeCompileConfig, to_edge

library = torch.library.Library("my_ops", "FRAGMENT")


def define_functional(name: str) -> None:
    """my_ops::NAME, which calls my_ops::NAME.out. For tensors without data, returns the shape and dtype of the
    result."""
    library.define(f"{name}(Tensor input) -> Tensor")
    out_variant = getattr(torch.ops.my_ops, name).out
    library.impl(name, lambda x: out_variant(x, output=torch.empty_like(x)), "CPU")
    torch.library.register_fake(f"my_ops::{name}", torch.empty_like)


class Model(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.my_ops.mul4(torch.ops.my_ops.mul3(x))


def main(shared_library: str, output: str) -> None:
    torch.ops.load_library(shared_library)
    define_functional("mul3")
    define_functional("mul4")
    example = (torch.ones(2, 3),)
    torch.testing.assert_close(Model()(*example), 12 * example[0])
    exported = torch.export.export(Model(), example)
    program = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch()
    Path(output).write_bytes(program.buffer)


if __name__ == "__main__":
    main(*sys.argv[1:])
