# Libraries with PyTorch: extension_aten_util, which converts between its tensors and the portable ones, and the runtime over
# at::Tensor itself (USE_ATEN_LIB), whose libraries have the names of the portable ones with the suffix _aten. PyTorch is
# that of the Python interpreter that CMake finds.

# executorch_find_pytorch(option): makes the target `executorch_pytorch`, PyTorch's headers and libraries. `option` is
# the option that needs it, for messages.
function(executorch_find_pytorch option)
  if(TARGET executorch_pytorch)
    return()
  endif()
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
      "import importlib.util; print(*importlib.util.find_spec('torch').submodule_search_locations)"  # importing it takes seconds
    OUTPUT_VARIABLE folder ERROR_VARIABLE error RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${option} needs PyTorch, which ${Python3_EXECUTABLE} does not have. Install it "
      "('${Python3_EXECUTABLE} -m pip install torch'), choose another interpreter with -DPython3_EXECUTABLE=..., or turn the "
      "option off.\n${error}")
  endif()
  find_library(EXECUTORCH_TORCH_CPU torch_cpu PATHS "${folder}/lib" NO_DEFAULT_PATH REQUIRED)
  find_library(EXECUTORCH_C10 c10 PATHS "${folder}/lib" NO_DEFAULT_PATH REQUIRED)
  mark_as_advanced(EXECUTORCH_TORCH_CPU EXECUTORCH_C10)
  add_library(executorch_pytorch INTERFACE)
  target_link_libraries(executorch_pytorch INTERFACE "${EXECUTORCH_TORCH_CPU}" "${EXECUTORCH_C10}")
  target_include_directories(executorch_pytorch SYSTEM INTERFACE "${folder}/include" "${folder}/include/torch/csrc/api/include")
  # PyTorch's headers require C++20.
  target_compile_features(executorch_pytorch INTERFACE cxx_std_20)
endfunction()

# executorch_aten_library(name [WITHOUT a.cpp ...] [WITH b.cpp ...] [LIBS x ...]): the library name_aten, made of the
# sources of the library `name`, without the files in WITHOUT and with the files in WITH. It links LIBS and the libraries that
# `name` links, or their versions over at::Tensor if they exist.
function(executorch_aten_library name)
  cmake_parse_arguments(ARG "" "" "WITHOUT;WITH;LIBS" ${ARGN})
  get_target_property(libraries ${name} INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
  foreach(library IN LISTS libraries)
    if(TARGET ${library}_aten)
      list(APPEND ARG_LIBS ${library}_aten)
    elseif(library)
      list(APPEND ARG_LIBS ${library})
    endif()
  endforeach()
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    add_library(${name}_aten INTERFACE)
    target_link_libraries(${name}_aten INTERFACE ${ARG_LIBS})
    return()
  endif()
  get_target_property(folder ${name} SOURCE_DIR)
  get_target_property(sources ${name} SOURCES)
  list(REMOVE_ITEM sources ${ARG_WITHOUT})
  list(APPEND sources ${ARG_WITH})
  list(TRANSFORM sources PREPEND "${folder}/")
  executorch_library(${name}_aten SOURCES ${sources} LIBS ${ARG_LIBS})
  foreach(property INCLUDE_DIRECTORIES INTERFACE_INCLUDE_DIRECTORIES)
    get_target_property(value ${name} ${property})
    if(value)
      set_property(TARGET ${name}_aten APPEND PROPERTY ${property} "${value}")
    endif()
  endforeach()
  # Private definitions apply to the sources only: the precompiled headers, which all libraries share, must not have them.
  target_compile_definitions(${name}_aten PUBLIC "$<TARGET_PROPERTY:${name},INTERFACE_COMPILE_DEFINITIONS>")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_DEFINITIONS "$<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>")
  executorch_has_torch_headers(${name}_aten)
  executorch_precompile_torch(${name}_aten)
endfunction()

# Parsing PyTorch's headers takes longer than compiling the rest: executorch_core_aten precompiles them for all targets
# that link it.
function(executorch_precompile_torch library)
  if(library STREQUAL "executorch_core_aten")
    target_precompile_headers(${library} PRIVATE <ATen/core/Tensor.h> <c10/core/Scalar.h> <c10/util/OptionalArrayRef.h>)
  else()
    target_precompile_headers(${library} REUSE_FROM executorch_core_aten)
  endif()
endfunction()

# PyTorch has <c10/...> and <torch/headeronly/...>, too. Every target that links the library includes PyTorch's, so that
# a program has only one Half.
function(executorch_has_torch_headers library)
  set_target_properties(${library} PROPERTIES EXECUTORCH_HAS_TORCH_HEADERS ON INTERFACE_EXECUTORCH_HAS_TORCH_HEADERS ON)
  set_property(TARGET ${library} APPEND PROPERTY COMPATIBLE_INTERFACE_BOOL EXECUTORCH_HAS_TORCH_HEADERS)
endfunction()
