# SPDX-License-Identifier: BSD-3-Clause
# Libraries of a project's own kernels, and libraries with only the operators and dtypes that programs use
# (docs/selective_build.md, docs/kernel_registration.md). These functions exist after find_package(executorch) and after
# add_subdirectory(). They read programs and YAML files when CMake runs, and again when one changes.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/DtypeSelection.cmake")

# executorch_codegen_root(variable): the folder that holds codegen/ and kernels/: the source tree, or a folder of the installation.
function(executorch_codegen_root variable)
  if(EXECUTORCH_CODEGEN_ROOT)
    cmake_path(ABSOLUTE_PATH EXECUTORCH_CODEGEN_ROOT NORMALIZE OUTPUT_VARIABLE root)
  else()
    cmake_path(SET root NORMALIZE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..")
  endif()
  string(REGEX REPLACE "/$" "" root "${root}")
  set(${variable} "${root}" PARENT_SCOPE)
endfunction()

# executorch_find_codegen_python(): sets the cached EXECUTORCH_CODEGEN_PYTHON; an error names the missing packages.
function(executorch_find_codegen_python)
  if(EXECUTORCH_CODEGEN_PYTHON)
    return()
  endif()
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c "import jinja2, yaml" RESULT_VARIABLE result ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    string(STRIP "${error}" error)
    message(FATAL_ERROR
      "The kernel registration code is generated with Python and needs jinja2 and pyyaml, which ${Python3_EXECUTABLE} lacks "
      "(${error}).\nRun '${Python3_EXECUTABLE} -m pip install jinja2 pyyaml', or choose another "
      "interpreter with -DPython3_EXECUTABLE=/path/to/python.")
  endif()
  set(EXECUTORCH_CODEGEN_PYTHON "${Python3_EXECUTABLE}" CACHE INTERNAL "Python that runs codegen")
endfunction()

# executorch_run_codegen(variable module arguments...): the lines that a module of codegen prints, as a list.
function(executorch_run_codegen variable module)
  executorch_find_codegen_python()
  executorch_codegen_root(root)
  execute_process(
    COMMAND "${EXECUTORCH_CODEGEN_PYTHON}" -B -m codegen.${module} ${ARGN}
    WORKING_DIRECTORY "${root}"
    OUTPUT_VARIABLE lines ERROR_VARIABLE message RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    string(REPLACE "\n" "\n  " message "${message}")
    message(FATAL_ERROR "${message}")
  endif()
  string(REPLACE "\n" ";" lines "${lines}")
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()

# gen_selected_ops([LIB_NAME name] [OPS_SCHEMA_YAML file] [ROOT_OPS ops] [INCLUDE_ALL_OPS ON] [OPS_FROM_MODEL file|folder ...]
#                  [DTYPE_SELECTIVE_BUILD ON])
# gen_selected_ops("ops_schema_yaml" "root_ops" "include_all_ops" ["ops_from_model" "dtype_selective_build"])
# Writes selected_operators.yaml for the library LIB_NAME that gen_operators_lib() is to make. Exactly one of the four ways to
# choose the operators is given and not empty: a functions.yaml (or a selected_operators.yaml), names ("aten::add.out,aten::mm.out"),
# all, or programs and folders of programs. DTYPE_SELECTIVE_BUILD: only the dtypes that the programs use.
function(gen_selected_ops)
  set(single LIB_NAME OPS_SCHEMA_YAML INCLUDE_ALL_OPS DTYPE_SELECTIVE_BUILD)
  set(lists ROOT_OPS OPS_FROM_MODEL)
  set(by_keyword OFF)
  foreach(name IN LISTS single lists)
    if(name IN_LIST ARGV)
      set(by_keyword ON)
    endif()
  endforeach()
  if(by_keyword)
    cmake_parse_arguments(PARSE_ARGV 0 GEN "" "${single}" "${lists}")
    executorch_check_parsed(gen_selected_ops "${GEN_UNPARSED_ARGUMENTS}")
  else()
    set(GEN_LIB_NAME "")
    set(index 0)
    foreach(name OPS_SCHEMA_YAML ROOT_OPS INCLUDE_ALL_OPS OPS_FROM_MODEL DTYPE_SELECTIVE_BUILD)
      set(GEN_${name} "")
      if(index LESS ARGC)
        set(GEN_${name} "${ARGV${index}}")
      endif()
      math(EXPR index "${index} + 1")
    endforeach()
  endif()

  set(arguments "")
  if(GEN_OPS_SCHEMA_YAML)
    cmake_path(ABSOLUTE_PATH GEN_OPS_SCHEMA_YAML BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${GEN_OPS_SCHEMA_YAML}")
    list(APPEND arguments --ops_schema_yaml_path "${GEN_OPS_SCHEMA_YAML}")
  endif()
  if(GEN_ROOT_OPS)
    string(REGEX REPLACE "[ ;]+" "," names "${GEN_ROOT_OPS}")
    list(APPEND arguments --root_ops "${names}")
  endif()
  if(GEN_INCLUDE_ALL_OPS)
    list(APPEND arguments --include_all_operators)
  endif()
  foreach(model IN LISTS GEN_OPS_FROM_MODEL)
    if(model STREQUAL "")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(IS_DIRECTORY "${model}")
      file(GLOB_RECURSE programs CONFIGURE_DEPENDS "${model}/*.pte")
    else()
      set(programs "${model}")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${programs})
    list(APPEND arguments --model_file_path "${model}")
  endforeach()
  if(GEN_DTYPE_SELECTIVE_BUILD)
    list(APPEND arguments --dtype_selective)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME}")
  string(REGEX REPLACE "/$" "" folder "${folder}")
  executorch_run_codegen(ignored tools.gen_oplist ${arguments} --output_path "${folder}/selected_operators.yaml")
  set_property(DIRECTORY PROPERTY "EXECUTORCH_SELECTION_OF_${GEN_LIB_NAME}" "${folder}/selected_operators.yaml")
  set_property(DIRECTORY PROPERTY "EXECUTORCH_DTYPES_OF_${GEN_LIB_NAME}" "${GEN_DTYPE_SELECTIVE_BUILD}")
endfunction()

# generate_bindings_for_kernels([LIB_NAME name] [FUNCTIONS_YAML file ...] [CUSTOM_OPS_YAML file ...])
# Names the kernels for the library that gen_operators_lib() is to make. If several files have an operator, the first file's
# kernels are used. Call it after gen_selected_ops() with the same LIB_NAME.
function(generate_bindings_for_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 GEN "ADD_EXCEPTION_BOUNDARY" "LIB_NAME;DTYPE_SELECTIVE_BUILD" "FUNCTIONS_YAML;CUSTOM_OPS_YAML")
  executorch_check_parsed(generate_bindings_for_kernels "${GEN_UNPARSED_ARGUMENTS}")
  get_property(selection DIRECTORY PROPERTY "EXECUTORCH_SELECTION_OF_${GEN_LIB_NAME}")
  if(NOT selection)
    message(FATAL_ERROR "generate_bindings_for_kernels() needs a selection of operators: call gen_selected_ops() before, with the "
      "same LIB_NAME ('${GEN_LIB_NAME}'); INCLUDE_ALL_OPS ON is for all of them.")
  endif()
  foreach(kind FUNCTIONS_YAML CUSTOM_OPS_YAML)
    set(files "")
    foreach(file IN LISTS GEN_${kind})
      if(file STREQUAL "")
        continue()
      endif()
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
      if(NOT EXISTS "${file}")
        message(FATAL_ERROR "generate_bindings_for_kernels(): ${kind} is ${file}, which is not there. The files of the library "
          "itself are kernels/portable/functions.yaml and kernels/quantized/functions.yaml in EXECUTORCH_ROOT.")
      endif()
      list(APPEND files "${file}")
    endforeach()
    set_property(DIRECTORY PROPERTY "EXECUTORCH_${kind}_OF_${GEN_LIB_NAME}" "${files}")
  endforeach()
endfunction()

# merge_yaml(FUNCTIONS_YAML file [FALLBACK_YAML file] OUTPUT_DIR folder)
# Writes <folder>/merged.yaml: every entry of FUNCTIONS_YAML, and those of FALLBACK_YAML for operators that it does not have.
function(merge_yaml)
  cmake_parse_arguments(PARSE_ARGV 0 GEN "" "FUNCTIONS_YAML;FALLBACK_YAML;OUTPUT_DIR" "")
  executorch_check_parsed(merge_yaml "${GEN_UNPARSED_ARGUMENTS}")
  set(arguments "")
  foreach(kind FUNCTIONS_YAML FALLBACK_YAML)
    if(GEN_${kind})
      cmake_path(ABSOLUTE_PATH GEN_${kind} BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${GEN_${kind}}")
      string(TOLOWER "${kind}_path" option)
      list(APPEND arguments --${option} "${GEN_${kind}}")
    endif()
  endforeach()
  cmake_path(ABSOLUTE_PATH GEN_OUTPUT_DIR BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
  executorch_run_codegen(ignored tools.merge_yaml ${arguments} --output_dir "${GEN_OUTPUT_DIR}")
endfunction()

# gen_operators_lib([LIB_NAME] name KERNEL_LIBS library ... [DEPS library ...] [WITHOUT_PRIM_OPS])
# Makes the library `name`, which registers, when the program starts, the kernels that gen_selected_ops() chose: linking it is
# enough. KERNEL_LIBS implement them (portable_kernels, quantized_kernels, libraries of the project's own); the
# linker drops kernels that are not registered. With DTYPE_SELECTIVE_BUILD, this package's libraries are compiled again for
# the selected dtypes. WITHOUT_PRIM_OPS: the programs do not use the runtime's own operators, so these are not linked either.
function(gen_operators_lib)
  cmake_parse_arguments(PARSE_ARGV 0 GEN "WITHOUT_PRIM_OPS" "LIB_NAME;DTYPE_SELECTIVE_BUILD" "KERNEL_LIBS;DEPS")
  if(NOT GEN_LIB_NAME)
    list(POP_FRONT GEN_UNPARSED_ARGUMENTS GEN_LIB_NAME)
  endif()
  executorch_check_parsed(gen_operators_lib "${GEN_UNPARSED_ARGUMENTS}")
  foreach(property SELECTION DTYPES FUNCTIONS_YAML CUSTOM_OPS_YAML)
    get_property(${property} DIRECTORY PROPERTY "EXECUTORCH_${property}_OF_${GEN_LIB_NAME}")
  endforeach()
  if(NOT SELECTION)
    # Older callers used these functions without a name.
    foreach(property SELECTION DTYPES FUNCTIONS_YAML CUSTOM_OPS_YAML)
      get_property(${property} DIRECTORY PROPERTY "EXECUTORCH_${property}_OF_")
    endforeach()
  endif()
  if(NOT SELECTION OR NOT (FUNCTIONS_YAML OR CUSTOM_OPS_YAML))
    message(FATAL_ERROR "gen_operators_lib() registers the kernels of an earlier selection: call gen_selected_ops() and "
      "generate_bindings_for_kernels(FUNCTIONS_YAML ... CUSTOM_OPS_YAML ...) before, with LIB_NAME '${GEN_LIB_NAME}' or none.")
  endif()
  foreach(library IN LISTS GEN_KERNEL_LIBS GEN_DEPS)
    if(library MATCHES "_ops_lib$")
      message(FATAL_ERROR "gen_operators_lib(): ${library} registers all of its kernels itself, so they would be registered twice. "
        "Give the library of the kernels instead, for example portable_kernels.")
    endif()
  endforeach()
  executorch_find_codegen_python()
  executorch_codegen_root(root)
  string(MAKE_C_IDENTIFIER "${GEN_LIB_NAME}" identifier)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME}")
  set(include "${folder}/include")
  set(output "${include}/kernels/${identifier}")
  if(NOT SELECTION STREQUAL "${folder}/selected_operators.yaml")
    # Copied, because the next selection without a name overwrites the file.
    file(MAKE_DIRECTORY "${folder}")
    file(COPY_FILE "${SELECTION}" "${folder}/selected_operators.yaml" ONLY_IF_DIFFERENT)
    set(SELECTION "${folder}/selected_operators.yaml")
  endif()

  set(arguments --op-selection-yaml "${SELECTION}" --require-all)
  foreach(file IN LISTS FUNCTIONS_YAML)
    list(APPEND arguments --functions-yaml "${file}")
  endforeach()
  foreach(file IN LISTS CUSTOM_OPS_YAML)
    list(APPEND arguments --custom-ops-yaml "${file}")
  endforeach()
  if(DTYPES)
    list(APPEND arguments --dtype-selective)
  endif()
  set(headers "${output}/NativeFunctions.h" "${output}/Functions.h" "${output}/RegisterKernels.h")
  set(sources "${output}/RegisterKernels.cpp" "${output}/RegisterKernelsAtLoad.cpp")
  set(generator "")
  executorch_codegen_sources(generator)
  add_custom_command(
    OUTPUT ${sources} ${headers}
    COMMAND "${EXECUTORCH_CODEGEN_PYTHON}" -B -m codegen.gen ${arguments} --library ${identifier} --output-dir "${output}"
            --include-prefix "kernels/${identifier}/"
    COMMAND "${CMAKE_COMMAND}" -E touch ${sources} ${headers}
    DEPENDS "${SELECTION}" ${FUNCTIONS_YAML} ${CUSTOM_OPS_YAML} ${generator}
    WORKING_DIRECTORY "${root}"
    COMMENT "Generating the registration code of ${GEN_LIB_NAME}"
    VERBATIM)
  add_custom_target(${GEN_LIB_NAME}_generated DEPENDS ${headers} ${sources})
  add_library(${GEN_LIB_NAME} STATIC ${sources} ${headers})
  target_compile_features(${GEN_LIB_NAME} PUBLIC cxx_std_17)
  executorch_gnu_options(${GEN_LIB_NAME} -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections)
  if(NOT CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO|Zephyr)$")
    set_target_properties(${GEN_LIB_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_include_directories(${GEN_LIB_NAME} PUBLIC "$<BUILD_INTERFACE:${include}>")
  if(DTYPES)
    executorch_kernels_for_dtypes(GEN_KERNEL_LIBS ${GEN_LIB_NAME} "${SELECTION}" "${FUNCTIONS_YAML}" ${GEN_KERNEL_LIBS})
    target_include_directories(${GEN_LIB_NAME} PUBLIC "$<BUILD_INTERFACE:${folder}/dtypes>")
  endif()
  target_link_libraries(${GEN_LIB_NAME} PUBLIC ${GEN_KERNEL_LIBS} ${GEN_DEPS} executorch)
  executorch_keep_symbol(${GEN_LIB_NAME} executorch_${identifier}_kernels_at_load)
  if(GEN_WITHOUT_PRIM_OPS)
    executorch_leave_out_prim_ops(${GEN_LIB_NAME})
  endif()
endfunction()

# gen_custom_ops_aot_lib([LIB_NAME] name [KERNEL_SOURCES file ...] [CUSTOM_OPS_YAML file ...] [DEPS library ...])
# Makes a shared library that torch.ops.load_library() takes: the out variants of a custom_ops.yaml (by default the one that
# generate_bindings_for_kernels() got without LIB_NAME) as operators of PyTorch, with the same kernels. Sources may register
# more with TORCH_LIBRARY_FRAGMENT, such as functional variants. Needs EXECUTORCH_BUILD_EXTENSION_ATEN_UTIL.
function(gen_custom_ops_aot_lib)
  cmake_parse_arguments(PARSE_ARGV 0 GEN "" "LIB_NAME" "KERNEL_SOURCES;CUSTOM_OPS_YAML;DEPS")
  if(NOT GEN_LIB_NAME)
    list(POP_FRONT GEN_UNPARSED_ARGUMENTS GEN_LIB_NAME)
  endif()
  executorch_check_parsed(gen_custom_ops_aot_lib "${GEN_UNPARSED_ARGUMENTS}")
  if(NOT GEN_LIB_NAME OR NOT (GEN_KERNEL_SOURCES OR GEN_DEPS))
    message(FATAL_ERROR "gen_custom_ops_aot_lib() makes a library of kernels: give its name, and KERNEL_SOURCES or DEPS.")
  endif()
  if(NOT TARGET extension_aten_util)
    message(FATAL_ERROR "gen_custom_ops_aot_lib() makes operators of PyTorch out of kernels and needs the library that translates "
      "between the two: build executorch with -DEXECUTORCH_BUILD_EXTENSION_ATEN_UTIL=ON.")
  endif()
  set(files ${GEN_CUSTOM_OPS_YAML})
  if(NOT files)
    get_property(files DIRECTORY PROPERTY "EXECUTORCH_CUSTOM_OPS_YAML_OF_")
  endif()
  if(NOT files)
    message(FATAL_ERROR "gen_custom_ops_aot_lib() registers the operators of a custom_ops.yaml: give it with CUSTOM_OPS_YAML.")
  endif()
  executorch_find_codegen_python()
  executorch_codegen_root(root)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME}")
  set(arguments "")
  set(inputs "")
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND arguments --custom-ops-yaml "${file}")
    list(APPEND inputs "${file}")
  endforeach()
  set(output "${folder}/kernels/custom")
  set(generated "${output}/RegisterToPyTorch.cpp" "${output}/NativeFunctions.h")
  executorch_codegen_sources(inputs)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND "${EXECUTORCH_CODEGEN_PYTHON}" -B -m codegen.gen ${arguments} --library custom --for-pytorch --output-dir "${output}"
            --include-prefix kernels/custom/
    COMMAND "${CMAKE_COMMAND}" -E touch ${generated}
    DEPENDS ${inputs}
    WORKING_DIRECTORY "${root}"
    COMMENT "Generating the operators of PyTorch in ${GEN_LIB_NAME}"
    VERBATIM)
  add_library(${GEN_LIB_NAME} SHARED ${generated} ${GEN_KERNEL_SOURCES})
  target_include_directories(${GEN_LIB_NAME} PRIVATE "${folder}")
  target_link_libraries(${GEN_LIB_NAME} PRIVATE extension_aten_util ${GEN_DEPS})
endfunction()

# executorch_kernel_test(name CASES file ... LIBS library ...)
# Makes a program and a test that runs it. The program calls the kernels that the libraries register, with the cases in the
# files, which sdk.kernels.testing writes, and fails if results differ. No test framework is needed.
function(executorch_kernel_test name)
  cmake_parse_arguments(PARSE_ARGV 1 GEN "" "" "CASES;LIBS")
  executorch_check_parsed(executorch_kernel_test "${GEN_UNPARSED_ARGUMENTS}")
  if(NOT GEN_CASES OR NOT GEN_LIBS)
    message(FATAL_ERROR "executorch_kernel_test() runs calls with the kernels of libraries: give files of cases (CASES), which "
      "sdk.kernels.testing writes, and libraries that register kernels (LIBS).")
  endif()
  set(files "")
  foreach(file IN LISTS GEN_CASES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND files "${file}")
  endforeach()
  executorch_codegen_root(root)
  add_executable(${name} "${root}/kernels/testing/run_kernel_cases.cpp")
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_include_directories(${name} PRIVATE "${root}")
  target_link_libraries(${name} PRIVATE ${GEN_LIBS} executorch)
  add_test(NAME ${name} COMMAND ${name} ${files})
endfunction()

# --- Parts of the above ------------------------------------------------------------------------------------------------

# Appends what generates code, on which generated files depend, to a list.
function(executorch_codegen_sources list)
  executorch_codegen_root(root)
  file(GLOB_RECURSE sources "${root}/codegen/*.py" "${root}/codegen/*.jinja" "${root}/codegen/aten_schemas.txt")
  set(${list} ${${list}} ${sources} PARENT_SCOPE)
endfunction()

function(executorch_check_parsed function unparsed)
  if(unparsed)
    message(FATAL_ERROR "${function}() has no argument '${unparsed}': the arguments are described in cmake/Codegen.cmake.")
  endif()
endfunction()

# The prim operators are replaced by an empty implementation, in an object file that comes before the library that has
# them.
function(executorch_leave_out_prim_ops target)
  if(TARGET no_prim_ops)
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:no_prim_ops>)
  else()
    executorch_codegen_root(root)
    target_sources(${target} INTERFACE "${root}/sdk/cpp/executorch/runtime/kernel/prim_ops/no_prim_ops.cpp")
  endif()
endfunction()

# executorch_gnu_options(target option ...): options of GCC and Clang for the target's own files. clang-cl takes them with
# the prefix /clang:.
function(executorch_gnu_options target)
  set(options ${ARGN})
  if(MSVC)
    list(TRANSFORM options PREPEND "/clang:")
  endif()
  target_compile_options(${target} PRIVATE ${options})
endfunction()

# executorch_keep_symbol(target symbol): a target that links `target` gets the object file that defines the C symbol, although
# nothing calls it. So linking a library is enough to register its kernels or backend.
function(executorch_keep_symbol target symbol)
  if(MSVC)
    target_link_options(${target} INTERFACE "/INCLUDE:${symbol}")
  elseif(APPLE)
    target_link_options(${target} INTERFACE "LINKER:-u,_${symbol}")
  elseif(CMAKE_SYSTEM_NAME MATCHES "^(Emscripten|WASI)$")
    # wasm-ld's -u loads the object file, but drops its initializers if nothing uses it.
    target_link_options(${target} INTERFACE "LINKER:--export=${symbol}")
  else()
    target_link_options(${target} INTERFACE "LINKER:-u,${symbol}")
  endif()
endfunction()
