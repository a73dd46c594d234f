# SPDX-License-Identifier: BSD-3-Clause
"""Imported by the server of forked.py in the original's environment: what most of its programs import, and what
PyTorch and the original do at the first export."""

import executorch.devtools
import executorch.extension.pybindings.portable_lib  # noqa: F401
import torch
from executorch.exir import to_edge_transform_and_lower

exported = torch.export.export(torch.nn.Linear(4, 4), (torch.rand(1, 4),))
to_edge_transform_and_lower(exported).to_executorch()
