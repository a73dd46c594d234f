# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLBackend` compiles parts of a model for Core ML."""

from __future__ import annotations

from sdk.backends.apple.coreml.compiler.coreml_preprocess import CoreMLBackend

__all__ = ["CoreMLBackend"]
