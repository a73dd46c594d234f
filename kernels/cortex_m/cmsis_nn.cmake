# SPDX-License-Identifier: BSD-3-Clause
# CMSIS-NN of the user, whose objects go into each library with kernels of cortex_m (executorch_add_kernel_objects).
set(CMSIS_NN_LOCAL_PATH "" CACHE PATH "CMSIS-NN, a folder with Include and Source, for the cortex_m operators that it implements")
set(CMSIS_CORE_LOCAL_PATH "" CACHE PATH "CMSIS-Core, a folder with cmsis_compiler.h, for releases of CMSIS-NN that include it")
if(NOT CMSIS_NN_LOCAL_PATH)
  return()
endif()

cmake_path(ABSOLUTE_PATH CMSIS_NN_LOCAL_PATH BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE cmsis_nn)
file(GLOB_RECURSE cmsis_nn_sources CONFIGURE_DEPENDS "${cmsis_nn}/Source/*.c")
if(NOT EXISTS "${cmsis_nn}/Include/arm_nnfunctions.h" OR NOT cmsis_nn_sources)
  message(FATAL_ERROR "CMSIS_NN_LOCAL_PATH is '${CMSIS_NN_LOCAL_PATH}', which has no Include/arm_nnfunctions.h and sources below Source. "
    "Name a checkout of CMSIS-NN.")
endif()
add_library(cmsis_nn OBJECT EXCLUDE_FROM_ALL ${cmsis_nn_sources})
target_include_directories(cmsis_nn SYSTEM PUBLIC "${cmsis_nn}/Include" ${CMSIS_CORE_LOCAL_PATH})
target_compile_definitions(cmsis_nn INTERFACE EXECUTORCH_CORTEX_M_CMSIS_NN)
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
  # Portable C, as CMSIS-NN is compiled for its Python package.
  target_compile_definitions(cmsis_nn PUBLIC __GNUC_PYTHON__)
  set_target_properties(cmsis_nn PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
# Its assembly for Helium needs more registers than -Os leaves. The code of kernels that a program does not call is dropped.
executorch_gnu_options(cmsis_nn -O2 -ffunction-sections -fdata-sections)
set_property(GLOBAL APPEND PROPERTY EXECUTORCH_KERNEL_OBJECTS cmsis_nn)
