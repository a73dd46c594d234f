# SPDX-License-Identifier: BSD-3-Clause
"""The server of forked.py imports this module, which does the one-time work of a process's first export and lowering.

PyTorch imports and traces much at its first export. torchao is not imported: there are tests of its absence.
"""

import sys

import torch

import sdk.backends.registry
from sdk.exir import to_edge_transform_and_lower
from sdk.export import cli  # noqa: F401 (of most commands)

for backend in sdk.backends.registry.backends().values():
    if backend.default_on_cpu:
        partitioner = backend.make("partitioner")
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid())
        exported = torch.export.export(model, (torch.rand(1, 4),))
        to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()

assert "torchao" not in sys.modules
