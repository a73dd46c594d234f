# SPDX-License-Identifier: BSD-3-Clause
"""The description of a tapped value."""

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
    """Its position among the outputs of the program, which include those of the model."""
    reducer_name: str
    fields: tuple[str, ...]
    """The meaning of the output's numbers; empty if it is the whole tensor."""
    stack_trace: str | None = None
    module_path: str | None = None
    """The innermost module that computes it, such as `layers.1.attention`."""
    module_class: str | None = None
    """The name of that module's class."""
