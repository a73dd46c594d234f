# SPDX-License-Identifier: BSD-3-Clause
# Zephyr: the runtime, the portable kernels and the backends for firmware. The toolchain and the platform layer come from Zephyr's own build.
executorch_preset(EXECUTORCH_BUILD_BACKENDS embedded)
executorch_preset(EXECUTORCH_PAL_DEFAULT minimal)
executorch_preset(EXECUTORCH_ENABLE_LOGGING OFF)
executorch_preset(EXECUTORCH_OPTIMIZE_SIZE ON)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER OFF)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
