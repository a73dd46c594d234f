# SPDX-License-Identifier: BSD-3-Clause
# There is one module and no shared library: position-independent code would be larger and slower.
set(CMAKE_CXX_COMPILE_OPTIONS_PIC "")
