# SPDX-License-Identifier: BSD-3-Clause
"""The server of forked.py imports this module in the original's environment. It imports what most programs there need,
and makes PyTorch and the original do the work of the first export."""

import executorch.devtools
import executorch.extension.pybindings.portable_lib  # noqa: F401
import torch
from executorch.exir import to_edge_transform_and_lower

exported = torch.export.export(torch.nn.Linear(4, 4), (torch.rand(1, 4),))
to_edge_transform_and_lower(exported).to_executorch()
