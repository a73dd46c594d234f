# SPDX-License-Identifier: BSD-3-Clause
"""A small class for one model: its methods as functions with named inputs and outputs, in Kotlin, Swift or C++.

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
