# SPDX-License-Identifier: BSD-3-Clause
"""Joins methods to one model with a function for each, which stores equal weights once."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler.conversion import Package, package_of, quiet
from sdk.backends.apple.coreml.container import write_folder


def convert_shared(packages: Mapping[str, Package]) -> Package:
    """The model of several packages; the functions have the names of `packages`, the first is the default."""
    ct = coremltools()
    from coremltools.models.utils import MultiFunctionDescriptor, save_multifunction

    with tempfile.TemporaryDirectory(prefix="coreml-") as folder, quiet():
        descriptor = MultiFunctionDescriptor()
        for i, (method, package) in enumerate(packages.items()):
            path = Path(folder) / f"{i}.mlpackage"
            write_folder(package.tree(), path)
            descriptor.add_function(str(path), src_function_name="main", target_function_name=method)
        descriptor.default_function_name = next(iter(packages))
        merged = Path(folder) / "merged.mlpackage"
        save_multifunction(descriptor, str(merged))
        return package_of(ct.models.MLModel(str(merged), skip_model_load=True))
