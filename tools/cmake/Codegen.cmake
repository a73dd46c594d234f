# SPDX-License-Identifier: BSD-3-Clause
# Existing projects include this file for gen_selected_ops() and its companions.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/Codegen.cmake")
