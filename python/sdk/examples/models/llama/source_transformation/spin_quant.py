# SPDX-License-Identifier: BSD-3-Clause
"""Hadamard transforms of SpinQuant; the definitions are those of `sdk.extension.llm.model.spin_quant`."""

from sdk.extension.llm.model.spin_quant import inject_fast_hadamard_transform_native_for_spin_quant

__all__ = ["inject_fast_hadamard_transform_native_for_spin_quant"]
