# SPDX-License-Identifier: BSD-3-Clause
"""The instructions of one method, and the node of each for debugging tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch.fx import Node

from sdk.exir.schema import Frame, FrameList, Instruction, InstructionArguments, KernelCall, Operator

_FRAME = re.compile(r'File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<name>[^\n]*)\n\s*(?P<context>[^\n]*)')


class Instructions:
    """A growing list of instructions, with the operators that they call."""

    def __init__(self, with_frames: bool) -> None:
        self.items: list[Instruction] = []
        self.frames: list[FrameList] | None = [] if with_frames else None
        self.operators: list[Operator] = []
        self.debug_handles: dict[int, int | list[int]] = {}
        # Only delegates, and kernels without a debug handle: the write-backs of buffers and inputs, which do not come
        # from a node of the edge program.
        self.num_outs: dict[int, int] = {}
        self._operator_index: dict[tuple[str, str], int] = {}

    def operator(self, name: str, overload: str) -> int:
        """The index of an operator, which is listed once."""
        key = (name, overload)
        if key not in self._operator_index:
            self._operator_index[key] = len(self.operators)
            self.operators.append(Operator(name, overload))
        return self._operator_index[key]

    def append(self, node: Node, arguments: InstructionArguments) -> int:
        """Adds an instruction that carries out (part of) a node; returns its index."""
        index = len(self.items)
        self.items.append(Instruction(arguments))
        handle = node.meta.get("debug_handle")
        if handle is not None:
            self.debug_handles[index] = handle
        elif isinstance(arguments, KernelCall):
            self.num_outs[index] = 1
        if self.frames is not None:
            self.frames.append(FrameList(list(_frames(node.meta.get("stack_trace") or ""))))
        return index


def _frames(stack_trace: str) -> Iterator[Frame]:
    for match in _FRAME.finditer(stack_trace):
        yield Frame(match["file"], int(match["line"]), match["name"], match["context"])
