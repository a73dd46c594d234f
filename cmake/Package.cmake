# SPDX-License-Identifier: BSD-3-Clause
# The interface of the build for other projects: executorch::kernels, executorch::backends and executorch::extensions, the rules of
# `cmake --install` with the files that find_package() and pkg-config read, and a summary. Included last.
include(CMakePackageConfigHelpers)
include("${CMAKE_CURRENT_LIST_DIR}/OtherNames.cmake")

# --- What users' own ET_LOG statements and kernels must agree with ----------------------------------------------------
if(NOT EXECUTORCH_LOG_LEVEL STREQUAL "info")
  string(SUBSTRING "${EXECUTORCH_LOG_LEVEL}" 0 1 initial)
  string(SUBSTRING "${EXECUTORCH_LOG_LEVEL}" 1 -1 rest)
  string(TOUPPER "${initial}" initial)
  target_compile_definitions(executorch_core PUBLIC ET_MIN_LOG_LEVEL=${initial}${rest})
endif()
if(EXECUTORCH_ENABLE_EVENT_TRACER)
  target_compile_definitions(executorch_core PUBLIC
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:EXECUTORCH_UNTRACED>>>:ET_EVENT_TRACER_ENABLED>")
endif()

# --- Selective build: the operators of executorch::kernels -----------------------------------------------------------
if(EXECUTORCH_SELECT_OPS_LIST OR EXECUTORCH_SELECT_OPS_MODEL OR EXECUTORCH_SELECT_OPS_YAML)
  foreach(option EXECUTORCH_SELECT_OPS_MODEL EXECUTORCH_SELECT_OPS_YAML)
    set(${option}_PATHS "")
    foreach(path IN LISTS ${option})
      cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" NORMALIZE)
      list(APPEND ${option}_PATHS "${path}")
    endforeach()
  endforeach()
  gen_selected_ops(LIB_NAME selected_ops_lib OPS_SCHEMA_YAML "${EXECUTORCH_SELECT_OPS_YAML_PATHS}"
    ROOT_OPS "${EXECUTORCH_SELECT_OPS_LIST}" OPS_FROM_MODEL ${EXECUTORCH_SELECT_OPS_MODEL_PATHS}
    DTYPE_SELECTIVE_BUILD "${EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD}")
  # The libraries that are built: if several have a kernel, that of the first one is used.
  set(selected_libraries "")
  set(selected_functions "")
  executorch_enabled(options kernels)
  set(libraries "")
  foreach(option IN LISTS options)
    get_property(folder GLOBAL PROPERTY EXECUTORCH_IN_OF_${option})
    cmake_path(GET folder FILENAME library)
    list(APPEND libraries ${library})
  endforeach()
  list(SORT libraries)  # the optimized one before the portable one
  foreach(library IN LISTS libraries)
    list(APPEND selected_libraries ${library}_kernels)
    list(APPEND selected_functions "${EXECUTORCH_SOURCE_ROOT}/kernels/${library}/functions.yaml")
  endforeach()
  generate_bindings_for_kernels(LIB_NAME selected_ops_lib FUNCTIONS_YAML ${selected_functions})
  gen_operators_lib(LIB_NAME selected_ops_lib KERNEL_LIBS ${selected_libraries})
  add_library(executorch::selected_ops_lib ALIAS selected_ops_lib)
endif()

# --- The three targets of the configured libraries -------------------------------------------------------------------
set(package_targets executorch)
foreach(group kernels backends extensions)
  add_library(executorch_${group} INTERFACE)
  add_library(executorch::${group} ALIAS executorch_${group})
  executorch_enabled(options ${group})
  set(names "")
  foreach(option IN LISTS options)
    get_property(targets GLOBAL PROPERTY EXECUTORCH_TARGETS_OF_${option})
    list(APPEND names ${targets})
  endforeach()
  list(APPEND package_targets ${names} executorch_${group})
  if("optimized_native_cpu_ops_lib" IN_LIST names)
    # The optimized library contains these operators, and an operator can be registered only once.
    list(REMOVE_ITEM names portable_ops_lib)
  endif()
  if(TARGET selected_ops_lib)
    list(TRANSFORM names REPLACE "^[a-z_]+_ops_lib$" "selected_ops_lib")
  endif()
  list(REMOVE_DUPLICATES names)
  target_link_libraries(executorch_${group} INTERFACE executorch ${names})
  list(APPEND package_targets ${names})
  list(JOIN names " " text)
  if(PROJECT_IS_TOP_LEVEL OR EXECUTORCH_INSTALL)
    message(STATUS "executorch::${group}: ${text}")
  endif()
endforeach()
if(EXECUTORCH_BUILD_EXTENSION_C_API)
  list(APPEND package_targets executorch_c)
endif()

# executorch_closure(variable target ...): the targets, and the targets of this project that they link.
function(executorch_closure variable)
  set(found "")
  set(waiting ${ARGN})
  while(waiting)
    list(POP_FRONT waiting name)
    if(NOT TARGET ${name})
      continue()
    endif()
    get_target_property(aliased ${name} ALIASED_TARGET)
    if(aliased)
      set(name ${aliased})
    endif()
    get_target_property(imported ${name} IMPORTED)
    if(imported OR name IN_LIST found)
      continue()
    endif()
    list(APPEND found ${name})
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(linked ${name} ${property})
      # Libraries that only this build uses are not installed.
      list(FILTER linked EXCLUDE REGEX "BUILD_INTERFACE|-NOTFOUND$")
      list(TRANSFORM linked REPLACE "^\\$<[A-Z_]+:([^<>]+)>$" "\\1")
      list(APPEND waiting ${linked})
    endforeach()
  endwhile()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

executorch_closure(package_targets ${package_targets})
if("llm_ops_lib" IN_LIST package_targets)
  install(DIRECTORY "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/llm/custom_ops"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension/llm" COMPONENT executorch FILES_MATCHING PATTERN "*.h"
    PATTERN "*_test_support.h" EXCLUDE)
endif()
foreach(name IN LISTS package_targets)
  if(name MATCHES "^(.*)_ops_table$")
    # The file's name in the documents, for builds that do not use CMake.
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${CMAKE_MATCH_1}_kernels_bindings)
  endif()
endforeach()
if(PROJECT_IS_TOP_LEVEL OR EXECUTORCH_INSTALL)
  foreach(name IN LISTS package_targets)
    get_target_property(type ${name} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
  endforeach()
endif()
if(NOT EXECUTORCH_INSTALL)
  return()
endif()

# --- Installation ----------------------------------------------------------------------------------------------------
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/ExecuTorch")  # the name in the original; find_package ignores case
foreach(group kernels backends extensions)
  set_target_properties(executorch_${group} PROPERTIES EXPORT_NAME ${group})
endforeach()
target_include_directories(executorch_core PUBLIC
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/executorch/runtime/core/portable_type/c10>")
install(TARGETS ${package_targets} EXPORT executorch-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT executorch
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT executorch
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT executorch
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT executorch-targets NAMESPACE executorch:: DESTINATION "${package_folder}" COMPONENT executorch)

# Everything except tests, bindings and headers that need flatbuffers: only the library reads the formats.
install(DIRECTORY "${EXECUTORCH_INCLUDE_ROOT}/executorch" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT executorch
  FILES_MATCHING PATTERN "*.h"
  REGEX "executorch/schema/(.*_generated|.*_tables|table_shapes|table_verifier)\\.h$" EXCLUDE
  PATTERN "test" EXCLUDE
  PATTERN "testing_util" EXCLUDE
  PATTERN "*_test_support.h" EXCLUDE
  PATTERN "pybindings" EXCLUDE
  PATTERN "llm" EXCLUDE
  PATTERN "asr" EXCLUDE
  PATTERN "spin_wait.h" EXCLUDE  # implements pthreadpool, which is part of the library
  PATTERN "aten_util" EXCLUDE  # depends on PyTorch, which every project finds itself
  PATTERN "torch_types.h" EXCLUDE
  REGEX "runtime/executor/(make_tensor|tensor_parser|program_validation)\\.h$" EXCLUDE
  REGEX "extension/c_api/[a-z_0-9]+\\.h$" EXCLUDE)
if("extension_c_api" IN_LIST package_targets)
  install(FILES
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/executorch.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/metadata.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/cancellation.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/devtools.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/images.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/llm.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/asr.h"
    "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/c_api/module.modulemap"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension/c_api" COMPONENT executorch)
endif()
if("extension_asr_runner" IN_LIST package_targets)
  install(DIRECTORY "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/asr"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension" COMPONENT executorch
    FILES_MATCHING PATTERN "*.h" PATTERN "bindings.h" EXCLUDE PATTERN "*_test_support.h" EXCLUDE)
endif()
if("extension_llm_tokenizers" IN_LIST package_targets)
  set(folder "${EXECUTORCH_INCLUDE_ROOT}/executorch/extension/llm")
  install(DIRECTORY "${folder}/tokenizers/include/pytorch" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT executorch)
  install(DIRECTORY "${folder}/runner" "${folder}/sampler"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension/llm" COMPONENT executorch
    FILES_MATCHING PATTERN "*.h" PATTERN "bindings.h" EXCLUDE PATTERN "*_test_support.h" EXCLUDE)
  install(FILES "${folder}/tokenizers/embedded.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension/llm/tokenizers" COMPONENT executorch)
  foreach(name chat_template tool_calls)
    install(FILES "${folder}/${name}/${name}.h"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/extension/llm/${name}" COMPONENT executorch)
  endforeach()
endif()
foreach(name IN LISTS package_targets)
  if(name MATCHES "^(.*)_ops_table$")
    # For programs that call register_<library>_kernels() instead of linking <library>_ops_lib.
    get_target_property(folder ${name} BINARY_DIR)
    install(DIRECTORY "${folder}/generated/executorch/kernels/${CMAKE_MATCH_1}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/executorch/kernels"
      COMPONENT executorch FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
if(EXECUTORCH_BUILD_EXECUTOR_RUNNER)
  install(TARGETS executor_runner RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT executorch)
endif()

set(PACKAGE_NEEDS_THREADS OFF)
foreach(name IN LISTS package_targets)
  get_target_property(linked ${name} INTERFACE_LINK_LIBRARIES)
  if("${linked}" MATCHES "Threads::Threads")
    set(PACKAGE_NEEDS_THREADS ON)
  endif()
endforeach()
list(JOIN package_targets " " PACKAGE_TARGETS)
set(EXECUTORCH_DATA_FOLDER "${CMAKE_INSTALL_DATADIR}/executorch")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/executorch-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/executorch-config.cmake" INSTALL_DESTINATION "${package_folder}"
  PATH_VARS EXECUTORCH_DATA_FOLDER)
# Projects request a release of ExecuTorch, whose API the headers have, or a version of this library.
file(STRINGS "${EXECUTORCH_INCLUDE_ROOT}/executorch/runtime/core/version.h" PACKAGE_API_VERSION REGEX "define ET_VERSION \"")
string(REGEX REPLACE ".*\"(.+)\"" "\\1" PACKAGE_API_VERSION "${PACKAGE_API_VERSION}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/executorch-config-version.cmake.in"
  "${PROJECT_BINARY_DIR}/package/executorch-config-version.cmake" @ONLY)
install(FILES
  "${PROJECT_BINARY_DIR}/package/executorch-config.cmake"
  "${PROJECT_BINARY_DIR}/package/executorch-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/LinkTargets.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/OtherNames.cmake"
  DESTINATION "${package_folder}" COMPONENT executorch)

# The same for pkg-config: executorch::kernels, ::backends and ::extensions. The libraries refer to each other, so the
# linker must search all of them repeatedly.
set(PC_LIBRARIES "")
executorch_closure(pc_targets executorch_kernels executorch_backends executorch_extensions)
foreach(name IN LISTS pc_targets)
  get_target_property(type ${name} TYPE)
  get_target_property(file ${name} OUTPUT_NAME)
  get_target_property(options ${name} INTERFACE_LINK_OPTIONS)
  if(type STREQUAL "STATIC_LIBRARY")
    string(REGEX REPLACE ".*-NOTFOUND$" "${name}" file "${file}")
    list(APPEND PC_LIBRARIES -l${file})
  endif()
  if(options)
    list(TRANSFORM options REPLACE "^LINKER:" "-Wl,")
    list(PREPEND PC_LIBRARIES ${options})
  endif()
endforeach()
if(NOT APPLE)
  set(PC_LIBRARIES -Wl,--start-group ${PC_LIBRARIES} -Wl,--end-group)
endif()
list(APPEND PC_LIBRARIES ${CMAKE_DL_LIBS})
list(TRANSFORM PC_LIBRARIES REPLACE "^([a-z]+)$" "-l\\1")
if(PACKAGE_NEEDS_THREADS)
  list(APPEND PC_LIBRARIES -pthread)
endif()
list(JOIN PC_LIBRARIES " " PC_LIBRARIES)
get_target_property(PC_DEFINITIONS executorch_core INTERFACE_COMPILE_DEFINITIONS)
list(TRANSFORM PC_DEFINITIONS PREPEND "-D")
list(JOIN PC_DEFINITIONS " " PC_DEFINITIONS)
file(RELATIVE_PATH PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/executorch.pc.in" "${PROJECT_BINARY_DIR}/package/executorch.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/executorch.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT executorch)

# For libraries of selected operators and of a project's own kernels: the generator, and the kernels' tables and sources (EXECUTORCH_ROOT).
set(root_folder "${EXECUTORCH_DATA_FOLDER}")
install(FILES "${CMAKE_CURRENT_LIST_DIR}/Codegen.cmake" "${CMAKE_CURRENT_LIST_DIR}/DtypeSelection.cmake" "${CMAKE_CURRENT_LIST_DIR}/LinkTargets.cmake"
  DESTINATION "${root_folder}/cmake" COMPONENT executorch)
install(DIRECTORY "${EXECUTORCH_SOURCE_ROOT}/tools" "${EXECUTORCH_SOURCE_ROOT}/codegen" DESTINATION "${root_folder}"
  COMPONENT executorch PATTERN "__pycache__" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
install(DIRECTORY "${EXECUTORCH_SOURCE_ROOT}/kernels" DESTINATION "${root_folder}" COMPONENT executorch
  FILES_MATCHING PATTERN "functions.yaml" REGEX "/((portable|quantized)/cpu/.*\\.(h|cpp|yaml)|kernels/testing/.*\\.(h|cpp))$" PATTERN "test" EXCLUDE)
install(FILES "${EXECUTORCH_INCLUDE_ROOT}/executorch/runtime/kernel/prim_ops/no_prim_ops.cpp"
  DESTINATION "${root_folder}/sdk/cpp/executorch/runtime/kernel/prim_ops" COMPONENT executorch)
