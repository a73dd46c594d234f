# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk bench`: how long a program takes to start and to run, and how much memory.

_worker    one process, in which one program starts and runs
_process   starts such a process and sends it requests
_measure   the order in which processes start and take turns
_figures   converts times to figures, if the clock is precise enough
_text      the output
"""
