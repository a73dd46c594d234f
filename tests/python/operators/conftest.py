# SPDX-License-Identifier: BSD-3-Clause
"""Lets these tests run on another build of the runtime: SDK_PORTABLE_LIB names its extension module, for example one
with sanitizers (`scripts/test.sh operators-asan`)."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

_NAME = "sdk.extension.pybindings._portable_lib"

if path := os.environ.get("SDK_PORTABLE_LIB"):
    loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
    spec = importlib.util.spec_from_loader(_NAME, loader)
    assert spec is not None
    sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    loader.exec_module(sys.modules[_NAME])
