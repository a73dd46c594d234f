# SPDX-License-Identifier: BSD-3-Clause
"""The C++ classes, which are part of the extension module with the kernels and backends that programs run on."""

from __future__ import annotations

from typing import Any

import sdk.extension.pybindings.portable_lib as portable_lib

_module: Any = getattr(portable_lib._portable_lib, "_asr_runner", None)
if _module is None:
    raise ImportError(
        "this build has no runner for models of speech: build it with EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER=ON, or "
        "install the package with `pip install .` from the root of its sources"
    )

AsrRunner = _module.AsrRunner
AsrTranscribeConfig = _module.AsrTranscribeConfig
Language = _module.Language
Segment = _module.Segment
Word = _module.Word
