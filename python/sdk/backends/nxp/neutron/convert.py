# SPDX-License-Identifier: BSD-3-Clause
"""Calls NXP's converter: `python -m sdk.backends.nxp.neutron.convert MODEL RESULT SETTINGS`, with settings in JSON. It
is a separate process, because the converter ends its process when it fails."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def convert(model: bytes, settings: dict[str, Any]) -> bytes:
    """The converted model. Raises ValueError for a target that the converter does not have."""
    converter: Any = importlib.import_module("eiq_neutron_sdk.neutron_converter")
    library: Any = importlib.import_module("eiq_neutron_sdk.neutron_library_utils")
    target = settings["target"]
    if not library.isNeutronTarget(target):
        known = ", ".join(each.name for each in library.getNeutronTargets())
        raise ValueError(f"NXP's converter has no target {target!r}; it has {known}")
    context = converter.CompilationContext()
    context.targetOpts = converter.getNeutronTarget(target)
    options = context.compilationOpts
    options.minNumOpsPerGraph = 1
    options.excludeGraphPasses = "HoistSliceAboveTranspose,MergeTranspose"
    options.fetchConstantsToSRAM = settings["fetches_constants"]
    options.dumpKernelSelectionCode = settings["dumps_kernels"]
    if settings["profiles"]:
        if not hasattr(options, "useProfiling"):
            raise ValueError("this release of NXP's converter cannot profile: leave use_profiling out")
        options.useProfiling = True
    return bytes(converter.convertModel(list(model), context))


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(convert(Path(sys.argv[1]).read_bytes(), json.loads(sys.argv[3])))
