# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs with `cadence_runner`, the C++ program, and compares their results."""

from sdk.backends.cadence.runtime.executor import BundledProgramManager, BundledProgramTestData, Executor

__all__ = ["BundledProgramManager", "BundledProgramTestData", "Executor"]
