# SPDX-License-Identifier: BSD-3-Clause
# A program inside a firmware image: its bytes as an array, and a kernel library of exactly its operators.
# With a delegated program, also the backends that it needs, as their manifests name them.
# Programs are read when CMake runs, and again whenever the file changes. Needs codegen/CMakeLists.txt before it.

# executorch_embed_program(name PROGRAM file.pte [SYMBOL model_pte])
# Makes the library `name`, which defines `extern "C" const unsigned char <SYMBOL>[]`, aligned to 16 bytes and in read-only
# memory, and `extern "C" const size_t <SYMBOL>_size`; <name>.h declares both.
function(executorch_embed_program name)
  cmake_parse_arguments(ARG "" "PROGRAM;SYMBOL" "" ${ARGN})
  if(NOT ARG_SYMBOL)
    set(ARG_SYMBOL model_pte)
  endif()
  cmake_path(ABSOLUTE_PATH ARG_PROGRAM BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  cmake_path(ABSOLUTE_PATH EXECUTORCH_CODEGEN_ROOT NORMALIZE OUTPUT_VARIABLE root)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded")
  add_custom_command(
    OUTPUT "${output}/${name}.c" "${output}/${name}.h"
    COMMAND "${EXECUTORCH_CODEGEN_PYTHON}" -m codegen.embed_program "${ARG_PROGRAM}" --symbol ${ARG_SYMBOL}
            --output "${output}/${name}.c" --header "${output}/${name}.h"
    DEPENDS "${ARG_PROGRAM}" "${root}/codegen/embed_program.py"
    WORKING_DIRECTORY "${root}"
    COMMENT "Embedding ${ARG_PROGRAM}"
    VERBATIM)
  add_library(${name} STATIC "${output}/${name}.c" "${output}/${name}.h")
  target_include_directories(${name} INTERFACE "${output}")
endfunction()

# executorch_program_operators(variable file.pte [argument ...]): the operators of all methods, as "aten::add.out;..." .
# Arguments are those of codegen/program_operators.py.
function(executorch_program_operators variable program)
  cmake_path(ABSOLUTE_PATH program BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${program}")
  executorch_run_codegen(operators program_operators "${program}" ${ARGN})
  set(${variable} "${operators}" PARENT_SCOPE)
endfunction()

# executorch_kernels_for_program(name PROGRAM file.pte [OPERATORS add,mul] [FUNCTIONS_YAML file ...] [SOURCES folder ...])
# Makes <name>_ops_lib, as executorch_kernel_library() does, with the operators of one program, and OPERATORS. It links the backends
# that the program delegates to, which must be built (EXECUTORCH_BUILD_BACKENDS=embedded builds those for firmware). Only the source
# files in SOURCES that implement them are compiled; by default those of the portable library. Of a folder without sources.yaml
# (codegen/kernel_sources.py) all files are compiled.
function(executorch_kernels_for_program name)
  cmake_parse_arguments(ARG "" "PROGRAM;OPERATORS" "FUNCTIONS_YAML;SOURCES" ${ARGN})
  cmake_path(ABSOLUTE_PATH EXECUTORCH_CODEGEN_ROOT NORMALIZE OUTPUT_VARIABLE root)
  if(NOT ARG_FUNCTIONS_YAML)
    set(ARG_FUNCTIONS_YAML "${root}/kernels/portable/functions.yaml")
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES "${root}/kernels/portable/cpu")
  endif()
  cmake_path(ABSOLUTE_PATH ARG_PROGRAM BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(selection "--operators=${ARG_OPERATORS}")
  set(folders "")
  foreach(file IN LISTS ARG_FUNCTIONS_YAML)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND selection --functions-yaml "${file}")
  endforeach()
  foreach(folder IN LISTS ARG_SOURCES)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND folders --sources "${folder}")
    if(EXISTS "${folder}/sources.yaml")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/sources.yaml")
    endif()
  endforeach()
  executorch_program_operators(operators "${ARG_PROGRAM}" ${selection})
  executorch_run_codegen(sources program_operators "${ARG_PROGRAM}" ${selection} ${folders})
  executorch_library(${name}_kernels FREESTANDING SOURCES ${sources} LIBS executorch_core)
  target_include_directories(${name}_kernels PUBLIC "$<BUILD_INTERFACE:${root}>")
  target_compile_options(${name}_kernels PRIVATE -fno-math-errno -fno-trapping-math)
  executorch_add_kernel_objects(${name}_kernels)
  executorch_kernel_library(${name} FUNCTIONS_YAML ${ARG_FUNCTIONS_YAML} KERNELS ${name}_kernels OPS ${operators})
  executorch_link_program_backends(${name}_ops_lib "${ARG_PROGRAM}")
  if(NOT "${operators}" MATCHES "executorch_prim::|aten::sym_|aten::_local_scalar_dense")
    target_sources(${name}_ops_lib INTERFACE $<TARGET_OBJECTS:no_prim_ops>)
  endif()
endfunction()

# executorch_add_kernel_objects(target): adds third-party code of a kernel library (the object libraries in the property
# EXECUTORCH_KERNEL_OBJECTS) to a library with its sources. An installed library then contains this code.
function(executorch_add_kernel_objects target)
  get_property(libraries GLOBAL PROPERTY EXECUTORCH_KERNEL_OBJECTS)
  foreach(library IN LISTS libraries)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
    target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
endfunction()

# executorch_link_program_backends(target file.pte): links the backends to which the program delegates. It is an error if a backend
# of this repository is not built. A backend that this repository does not have is registered by the application.
function(executorch_link_program_backends target program)
  executorch_run_codegen(ids program_operators "${program}" --backends)
  get_property(names GLOBAL PROPERTY EXECUTORCH_BACKENDS)
  foreach(id IN LISTS ids)
    set(owner "")
    foreach(name IN LISTS names)
      executorch_backend_get(its_id "${name}" id)
      if(its_id STREQUAL id)
        set(owner "${name}")
      endif()
    endforeach()
    if(NOT owner)
      message(STATUS "${program} delegates to ${id}, which no manifest below backends/ has: the application must register it.")
      continue()
    endif()
    executorch_backend_get(option "${owner}" option)
    executorch_backend_get(library "${owner}" target)
    if(NOT ${option})
      message(FATAL_ERROR "${program} delegates to ${id}, the backend of backends/${owner}, which is not built: add "
        "-D${option}=ON, or export the program without it.")
    endif()
    target_link_libraries(${target} INTERFACE ${library})
  endforeach()
endfunction()
