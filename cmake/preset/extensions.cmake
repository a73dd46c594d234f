# SPDX-License-Identifier: BSD-3-Clause
# Every extension that an application on a phone or desktop uses. The presets of these systems include it.
foreach(extension C_API DATA_LOADER EVALUE_UTIL FLAT_TENSOR MODULE NAMED_DATA_MAP RUNNER_UTIL TENSOR)
  executorch_preset(EXECUTORCH_BUILD_EXTENSION_${extension} ON)
endforeach()
