# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk test`: the test cases of a bundled program, on every runtime at hand.

_cases      from a bundled program to the files and values of a case
_runtimes   the Python module, and runners: of this machine, or of another one by QEMU
_results    outputs beside what is expected
"""
