# SPDX-License-Identifier: BSD-3-Clause
# The place that existing projects include gen_selected_ops() and its companions from.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/Codegen.cmake")
