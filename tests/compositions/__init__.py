# SPDX-License-Identifier: BSD-3-Clause
"""Random programs: calls of many operators in an arbitrary order, lowered, run and compared with eager.

The sweeps (tests/backends) call one operator at a time. What goes wrong between operators (views that share memory,
values that a pass reorders, memory that is planned too short, a delegate's boundary) appears in compositions only.

    python -m compositions --seeds 0 500             # from tests/, with the environment of the tests
    python -m compositions --seeds 17 18 --verbose   # one program, step by step
"""
