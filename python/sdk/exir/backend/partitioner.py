# SPDX-License-Identifier: BSD-3-Clause
"""The interface of partitioners, which choose the nodes that a backend takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch.export import ExportedProgram

from sdk.exir.backend.compile_spec_schema import CompileSpec


class DelegationSpec(NamedTuple):
    """The backend of a partition, and its options."""

    backend_id: str
    compile_specs: list[CompileSpec]


@dataclass
class PartitionResult:
    """A program whose nodes carry `meta["delegation_tag"]`, and the backend of each tag."""

    tagged_exported_program: ExportedProgram
    partition_tags: dict[str, DelegationSpec]


class Partitioner(ABC):
    """Tags the nodes that a backend takes. Nodes with the same tag become one delegate call.

    `partition` must not change the program except for the tags. Weights that only a partition uses are tagged too (see
    `sdk.exir.backend.utils.tag_constant_data`) if the backend is to store them itself.
    """

    def __init__(self, spec: Mapping[str | int | float | bool, object] = MappingProxyType({})) -> None:
        self._spec = spec

    def __call__(self, exported_program: ExportedProgram) -> PartitionResult:
        return self.partition(exported_program)

    @property
    def spec(self) -> Mapping[str | int | float | bool, object]:
        """Options given to the constructor; none for subclasses that do not call it."""
        return getattr(self, "_spec", MappingProxyType({}))

    def prepare(self, exported_program: ExportedProgram) -> bool:
        """Edits the program before `partition` gets it, if the backend needs another form of it. Returns whether it
        changed anything."""
        return False

    @abstractmethod
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes of the program and returns the backend of each tag."""

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """Operators that `to_edge_transform_and_lower` keeps whole for this partitioner, and a filter for their
        nodes."""
        return ([], None)
