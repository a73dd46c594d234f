# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a tapped value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TapSpec:
    """A value that was made an output."""

    node_name: str
    """The node that computes it, when it was tapped."""
    op_target: str
    """The operator, such as `aten.linear.default`."""
    output_index: int
    """Its place among the outputs of the program, those of the model included."""
    reducer_name: str
    fields: tuple[str, ...]
    """What the numbers of the output mean; empty where it is the whole tensor."""
    stack_trace: str | None = None
    module_path: str | None = None
    """The innermost module that computes it, such as `layers.1.attention`."""
    module_class: str | None = None
    """The name of that module's class."""
