# SPDX-License-Identifier: BSD-3-Clause
"""Finds compile specs."""

from __future__ import annotations

from collections.abc import Sequence

from sdk.exir.backend.compile_spec_schema import CompileSpec


def get_compile_spec(
    compile_specs: Sequence[CompileSpec], spec_name: str, required: bool = False
) -> CompileSpec | None:
    """The first compile spec with a name; None without such a spec.

    Raises ValueError if a required spec is missing.
    """
    for spec in compile_specs:
        if spec.key == spec_name:
            return spec
    if required:
        raise ValueError(
            f"the compile specs of Samsung lack {spec_name}: add gen_samsung_backend_compile_spec('E9955') of "
            f"sdk.backends.samsung.serialization.compile_options"
        )
    return None
