# SPDX-License-Identifier: BSD-3-Clause
include("${CMAKE_CURRENT_LIST_DIR}/../portable/options.cmake")
# With this option, executorch::kernels has every operator once: its fast kernel if it has one, else the portable kernel.
set(executorch_prefers_speed ${EXECUTORCH_BUILD_PORTABLE_OPS})
if(CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO|Zephyr)$" OR EXECUTORCH_OPTIMIZE_SIZE OR CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
  set(executorch_prefers_speed OFF)
endif()
executorch_option(EXECUTORCH_BUILD_KERNELS_OPTIMIZED ${executorch_prefers_speed} "Fast kernels for common CPUs (fetches Highway)"
  GROUP kernels TARGETS optimized_native_cpu_ops_lib IN kernels/optimized NEEDS EXECUTORCH_BUILD_PORTABLE_OPS)
