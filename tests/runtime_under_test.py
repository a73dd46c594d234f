# SPDX-License-Identifier: BSD-3-Clause
"""Lets tests run on another build of the runtime's Python module."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

_NAME = "sdk.extension.pybindings._portable_lib"
VARIABLE = "SDK_PORTABLE_LIB"


def load() -> None:
    """Makes the extension module at the path in SDK_PORTABLE_LIB, if it is set, the one that `sdk` imports: a build
    with sanitizers, or one with other kernels. Call it before anything of `sdk` is imported."""
    path = os.environ.get(VARIABLE)
    if path and getattr(sys.modules.get(_NAME), "__file__", None) != path:
        loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
        spec = importlib.util.spec_from_loader(_NAME, loader)
        assert spec is not None
        sys.modules[_NAME] = importlib.util.module_from_spec(spec)
        loader.exec_module(sys.modules[_NAME])
