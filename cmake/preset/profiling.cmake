# SPDX-License-Identifier: BSD-3-Clause
# Measuring: event tracers are compiled in.
executorch_preset(EXECUTORCH_ENABLE_EVENT_TRACER ON)
include("${CMAKE_CURRENT_LIST_DIR}/linux.cmake")
