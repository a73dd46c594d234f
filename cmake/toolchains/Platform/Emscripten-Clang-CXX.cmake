# SPDX-License-Identifier: BSD-3-Clause
# There is one module and no shared library: code that may lie anywhere would be larger and slower.
set(CMAKE_CXX_COMPILE_OPTIONS_PIC "")
