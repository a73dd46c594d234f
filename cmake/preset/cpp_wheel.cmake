# SPDX-License-Identifier: BSD-3-Clause
# The C++ package as a wheel: sdk/cpp/wheel/pyproject.toml names this file.
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
# executor_runner writes ETDumps. The Python package has it too, so that ccache has its object files.
executorch_preset(EXECUTORCH_ENABLE_EVENT_TRACER ON)
# Unknown compilers may warn; that must not prevent the installation.
executorch_preset(EXECUTORCH_ENABLE_WERROR OFF)
if(WIN32)
  include("${CMAKE_CURRENT_LIST_DIR}/windows.cmake")
elseif(APPLE)
  include("${CMAKE_CURRENT_LIST_DIR}/macos.cmake")
else()
  include("${CMAKE_CURRENT_LIST_DIR}/llm.cmake")
endif()
