# SPDX-License-Identifier: BSD-3-Clause
"""The oldest deployment target that can run a program."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler.operators import operator_of
from sdk.backends.apple.coreml.compiler.settings import Settings
from sdk.backends.apple.coreml.compiler.trial import Trials


def candidates(settings: Settings) -> list[Any]:
    """The deployment targets to convert for, the oldest first: the given one, or one for each set of operators."""
    if settings.target is not None:
        return [settings.target]
    target = coremltools().target
    return [target.iOS16, target.iOS17, target.iOS18]


def least_target(program: ExportedProgram, settings: Settings) -> tuple[Any, str]:
    """The oldest target that has all operators of a program, and the reason why an older one is not enough.

    Raises:
        RuntimeError: an operator cannot be converted for any target.
    """
    target = coremltools().target
    found, why = target.iOS16, "it is the oldest that the runtime supports"
    if program.graph_signature.buffers_to_mutate:
        found, why = (
            target.iOS18,
            f"the state {next(iter(program.graph_signature.buffers_to_mutate.values()))} needs it",
        )
    if len({name for entry in settings.enumerated for name in entry.inputs}) > 1:
        found, why = target.iOS18, "enumerated shapes of several inputs need it"
    trials = Trials(program)
    for node in program.graph.nodes:
        if node.op == "call_function":
            needed = operator_of(node).lower(node, trials, candidates(settings))
            if needed > found:
                found, why = needed, f"{node.target} needs it"
    return found, why
