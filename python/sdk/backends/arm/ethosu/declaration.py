# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Ethos-U (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="ethos-u",
    id="EthosUBackend",
    about="Arm's NPUs of microcontrollers, for quantised models (an Ethos-U55, unless a recipe names another)",
    partitioner="sdk.backends.arm.ethosu.partitioner:make_partitioner",
    recipes="sdk.backends.arm.ethosu.recipes:EthosURecipeProvider",
    quantization=schemes(
        int8=("arm_ethos_u55_int8", "int8 weights and activations"),
    ),
    operators="sdk.backends.arm.tosa.integer:INTEGER",
    language_models=LanguageModels(
        settings="sdk.backends.arm.ethosu.llm:EthosUConfig",
        acted_on=("target", "memory_mode", "system_config", "extra_flags"),
        arguments="sdk.backends.arm.ethosu.llm:partitioner_arguments",
        quantizers={"ethosu_8a8w": Quantizer(make=None), "ethosu_16a8w": Quantizer(make=None)},
    ),
    packages=("ethos-u-vela==5.1.0",),
)
