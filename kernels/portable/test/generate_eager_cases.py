# SPDX-License-Identifier: BSD-3-Clause
"""Writes eager_cases.txt: calls of operators with the results that PyTorch eager gives, for eager_cases_test.cpp.

Run it from the root of the repository after adding a case to one of the modules below::

    python kernels/portable/test/generate_eager_cases.py

A case is the name of an out variant and the arguments of the operator; missing ones take their schema's defaults.
"""

from __future__ import annotations

from pathlib import Path

from eager_case_format import write_cases
from eager_elementwise_cases import binary_cases, select_cases, unary_cases
from eager_promotion_cases import exact_number_cases, operand_dtype_cases, result_dtype_cases
from eager_reduction_cases import reduction_cases, sort_cases
from eager_shape_cases import copy_and_create_cases, index_cases, shape_cases

OUTPUT = Path(__file__).with_name("eager_cases.txt")
SECTIONS = (
    unary_cases,
    binary_cases,
    select_cases,
    reduction_cases,
    sort_cases,
    shape_cases,
    copy_and_create_cases,
    index_cases,
    result_dtype_cases,
    operand_dtype_cases,
    exact_number_cases,
)


if __name__ == "__main__":
    write_cases(OUTPUT, Path(__file__).name, SECTIONS)
