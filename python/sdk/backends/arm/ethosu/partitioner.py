# SPDX-License-Identifier: BSD-3-Clause
"""`EthosUPartitioner`: delegates the parts of a quantised model that an Ethos-U computes to `EthosUBackend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.backends.arm.ethosu.backend import EthosUBackend
from sdk.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from sdk.backends.arm.tosa.partitioner import TOSAPartitioner


@final
class EthosUPartitioner(TOSAPartitioner):
    """A `TOSAPartitioner` whose parts become command streams. An Ethos-U computes with integers: quantise the model
    first, with `EthosUQuantizer`.

    Args:
        compile_spec: The NPU and the options of Vela.
        additional_checks: Each may refuse further nodes, by `is_node_supported`.
    """

    backend_id = EthosUBackend.__name__

    def __init__(
        self, compile_spec: EthosUCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        super().__init__(compile_spec, additional_checks)


def make_partitioner(target: str = "ethos-u55-128", **options: Any) -> EthosUPartitioner:
    """A partitioner from the arguments of `EthosUCompileSpec`. The default NPU is the most common one."""
    return EthosUPartitioner(EthosUCompileSpec(target, **options))
