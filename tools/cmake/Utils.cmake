# SPDX-License-Identifier: BSD-3-Clause
# The place that existing projects include executorch_target_link_options_shared_lib() from.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/LinkTargets.cmake")
