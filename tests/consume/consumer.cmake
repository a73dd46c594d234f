# SPDX-License-Identifier: BSD-3-Clause
# Functions that the three projects here share: applications, and checks that the library changes no settings of the project.
enable_testing()
# ccache never has these object files, because the path of a precompiled header is part of their hash.
option(CONSUMER_EVERY_KERNEL "Applications that link libraries of kernels, which compiles all kernels again" ON)
set(CONSUMER_FOLDER "${CMAKE_CURRENT_LIST_DIR}")
set(CONSUMER_PROGRAM "${CONSUMER_FOLDER}/../data/corpus/add/model.pte")

# consumer_settings(variable): everything of a project that a library could have changed.
function(consumer_settings variable)
  set(text "")
  foreach(name
      BUILD_SHARED_LIBS BUILD_TESTING CMAKE_BUILD_TYPE CMAKE_C_COMPILER_LAUNCHER CMAKE_C_FLAGS CMAKE_C_FLAGS_RELEASE
      CMAKE_CXX_COMPILER_LAUNCHER CMAKE_CXX_EXTENSIONS CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_MINSIZEREL CMAKE_CXX_FLAGS_RELEASE
      CMAKE_CXX_STANDARD CMAKE_CXX_VISIBILITY_PRESET CMAKE_EXE_LINKER_FLAGS CMAKE_INTERPROCEDURAL_OPTIMIZATION
      CMAKE_MODULE_PATH CMAKE_POSITION_INDEPENDENT_CODE CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_SHARED_LINKER_FLAGS)
    string(APPEND text "${name}=${${name}}\n")
  endforeach()
  foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_LIBRARIES LINK_OPTIONS)
    get_directory_property(value ${property})
    string(APPEND text "${property}=${value}\n")
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# consumer_check_settings(before): nothing has changed since.
function(consumer_check_settings before)
  consumer_settings(after)
  if(NOT before STREQUAL after)
    message(FATAL_ERROR "Using the library changed the project's settings.\nBefore:\n${before}\nAfter:\n${after}")
  endif()
  foreach(target executorch executorch::kernels executorch::backends executorch::extensions extension_module portable_ops_lib)
    get_target_property(options ${target} INTERFACE_COMPILE_OPTIONS)
    if(options)
      message(FATAL_ERROR "Targets that link ${target} are compiled with ${options}.")
    endif()
  endforeach()
endfunction()

# consumer_application(name SOURCES file ... LIBS library ... [OPTIONS option ...]): a program and a test that runs it.
function(consumer_application name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;OPTIONS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND "${CONSUMER_FOLDER}/")
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  add_test(NAME ${name} COMMAND ${name} "${CONSUMER_PROGRAM}")
endfunction()
