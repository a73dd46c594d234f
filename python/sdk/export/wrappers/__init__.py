# SPDX-License-Identifier: BSD-3-Clause
"""Generates a small class for one model, in Kotlin, Swift or C++, whose functions have named inputs and outputs.

description  reads the contents of the class from the program
languages    names and types in each language; the templates are the .jinja files in this folder
"""

from __future__ import annotations

from sdk.export.wrappers.description import Dim, MethodSpec, ProgramSpec, ValueSpec, describe_program
from sdk.export.wrappers.languages import LANGUAGES, render, wrapper_name

__all__ = [
    "LANGUAGES",
    "Dim",
    "MethodSpec",
    "ProgramSpec",
    "ValueSpec",
    "describe_program",
    "render",
    "wrapper_name",
]
