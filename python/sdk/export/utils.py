# SPDX-License-Identifier: BSD-3-Clause
"""Functions that find out what the exporting machine can do."""

from __future__ import annotations

import platform


def is_fbcode() -> bool:
    """Always False, because this package is not built in Meta's repository."""
    return False


def is_supported_platform_for_coreml_lowering() -> bool:
    """Whether coremltools can compile here: 64-bit Intel Linux, or a Mac with Apple's own processor."""
    system, machine = platform.system(), platform.machine().lower()
    return (system == "Linux" and machine == "x86_64") or (system == "Darwin" and machine in ("arm64", "aarch64"))


def is_supported_platform_for_qnn_lowering() -> bool:
    """Whether Qualcomm's compiler runs here: Intel Linux."""
    return platform.system() == "Linux" and platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
