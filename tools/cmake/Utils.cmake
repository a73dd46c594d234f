# SPDX-License-Identifier: BSD-3-Clause
# Existing projects include this file for executorch_target_link_options_shared_lib().
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/LinkTargets.cmake")
