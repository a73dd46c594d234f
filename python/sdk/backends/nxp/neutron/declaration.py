# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Neutron (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="neutron",
    id="NeutronBackend",
    about="NXP's eIQ Neutron NPUs in i.MX RT700 microcontrollers, for quantised models",
    partitioner="sdk.backends.nxp.neutron_partitioner:NeutronPartitioner",
    recipes="sdk.backends.nxp.neutron.recipes:NeutronRecipeProvider",
    quantization=schemes(int8=("neutron_int8", "int8 weights and activations")),
    operators="sdk.backends.nxp.neutron.operators:OPERATORS",
    runner="sdk.backends.nxp.neutron.verify:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not NXP's converter and arithmetic: run it on a device too",
    tolerance=0.05,  # integers are rounded at other steps than in PyTorch
)
