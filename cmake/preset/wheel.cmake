# SPDX-License-Identifier: BSD-3-Clause
# The Python package: pyproject.toml names this file.
executorch_preset(EXECUTORCH_BUILD_BACKENDS wheel)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
executorch_preset(EXECUTORCH_BUILD_PYBIND ON)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
# Programs that are loaded with enable_etdump=True record events; for others the runtime compares a pointer with null.
executorch_preset(EXECUTORCH_ENABLE_EVENT_TRACER ON)
# Unknown compilers may warn; that must not prevent the installation.
executorch_preset(EXECUTORCH_ENABLE_WERROR OFF)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_LLM ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_LLM ON)
# Programs for microcontrollers and DSPs run in Python, too.
executorch_preset(EXECUTORCH_BUILD_CADENCE ON)
executorch_preset(EXECUTORCH_BUILD_CORTEX_M ON)
