# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk bench`: how long a program takes to start and to run, and how much memory.

_worker    one process, in which one program starts and runs
_process   such a process, seen from the command
_measure   the order in which processes start and take turns
_figures   from times to figures, and which figures a clock can give
_text      what is printed
"""
