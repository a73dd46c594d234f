# SPDX-License-Identifier: BSD-3-Clause
"""`QnnPartitioner`: delegates the supported parts of a model to `QnnBackend`. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.qualcomm`."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Sequence
from typing import Any, final

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.npu.partitioner import NpuSupport
from sdk.backends.partition import Skipped, SupportPartitioner
from sdk.backends.qualcomm.partition.utils import generate_qnn_executorch_option, get_skip_decomp_table, options_of
from sdk.backends.qualcomm.qnn.operators import LIMITS, OPERATORS, WHOLE, refusal
from sdk.backends.qualcomm.qnn_preprocess import QnnBackend
from sdk.backends.transforms.constants import is_constant
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec

__all__ = ["QnnOperatorSupport", "QnnPartitioner", "generate_qnn_executorch_option", "get_skip_decomp_table"]


class QnnOperatorSupport(NpuSupport):
    """Decides which calls of a program QNN takes."""

    def __init__(
        self,
        edge_program: ExportedProgram,
        compiler_specs: Sequence[CompileSpec],
        skip_node_id_set: Collection[str] | None = None,
        skip_node_op_set: Collection[Any] | None = None,
    ) -> None:
        options_of(compiler_specs)
        types = [each if isinstance(each, str) else str(each) for each in skip_node_op_set or ()]
        super().__init__(edge_program, OPERATORS, LIMITS, Skipped(types, skip_node_id_set))

    def refusal(self, node: Node) -> str | None:
        reason = super().refusal(node)
        return reason if reason is not None or is_constant(self.program, node) else refusal(node, self.program)


@final
class QnnPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compiler_specs: The result of `generate_qnn_executorch_compiler_spec`, which is copied.
        skip_node_id_set: Names of nodes that stay on kernels.
        skip_node_op_set: Operators that stay on kernels, or their names, for example `"aten.add.Tensor"`.
        skip_mutable_buffer: Has no effect, because state always stays with the program, and delegates read and write it
            through their arguments.

    Raises ValueError for compile specs of another backend.
    """

    prefix = "qnn"
    logger = logging.getLogger("sdk.backends.qualcomm")
    whole = WHOLE

    def __init__(
        self,
        compiler_specs: Sequence[CompileSpec],
        skip_node_id_set: Collection[str] | None = None,
        skip_node_op_set: Collection[Any] | None = None,
        skip_mutable_buffer: bool = False,
    ) -> None:
        super().__init__()
        self.compiler_specs_snapshot = copy.deepcopy(list(compiler_specs))
        self.backend = options_of(self.compiler_specs_snapshot).backend_options.backend_type
        self.delegation_spec = DelegationSpec(QnnBackend.__name__, self.compiler_specs_snapshot)
        self.skip_node_id_set, self.skip_node_op_set = set(skip_node_id_set or ()), set(skip_node_op_set or ())
        self.skip_mutable_buffer = skip_mutable_buffer

    def support(self, program: ExportedProgram) -> QnnOperatorSupport:
        """Returns the object that decides which calls of a program QNN takes."""
        return QnnOperatorSupport(program, self.compiler_specs_snapshot, self.skip_node_id_set, self.skip_node_op_set)


def default_partitioner(compiler_specs: Sequence[CompileSpec] | None = None) -> QnnPartitioner:
    """The default is a partitioner for the HTP of a Snapdragon 8 Gen 3 (SM8650), which computes floats as float16."""
    if compiler_specs is not None:
        return QnnPartitioner(compiler_specs)
    from sdk.backends.qualcomm.serialization.qc_schema import QcomChipset
    from sdk.backends.qualcomm.utils.compile_specs import (
        generate_htp_compiler_spec,
        generate_qnn_executorch_compiler_spec,
    )

    htp = generate_htp_compiler_spec(use_fp16=True)
    return QnnPartitioner(generate_qnn_executorch_compiler_spec(QcomChipset.SM8650, htp))
