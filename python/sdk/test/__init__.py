# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk test`: runs the test cases of a bundled program on every available runtime.

_cases      reads a bundled program, and makes files and values of its cases
_runtimes   the Python module, and runners for this machine or, by QEMU, for another one
_results    compares outputs with the expected ones
"""
