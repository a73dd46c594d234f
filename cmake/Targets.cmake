# The compile options of our own targets, in one place. Consumers do not inherit them: warnings, sections and sanitizers
# are PRIVATE; only include paths and the language level are PUBLIC.

include("${CMAKE_CURRENT_LIST_DIR}/Aten.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/Codegen.cmake")

set(EXECUTORCH_INCLUDE_ROOT "${CMAKE_CURRENT_LIST_DIR}/../sdk/cpp")
cmake_path(NORMAL_PATH EXECUTORCH_INCLUDE_ROOT)

# For kernels, PRIVATE. Their inner loops are meant to be vectorised, which some compilers do only at -O3. Support for
# errno and floating-point traps, which kernels do not use, would prevent the vectorisation of selections. -ffast-math
# is not used, because NaN, infinities and signed zeros must be those of PyTorch.
set(EXECUTORCH_KERNEL_OPTIONS -fno-math-errno -fno-trapping-math)
if(MSVC)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "On Windows, expected clang-cl or MinGW-w64's GCC, found ${CMAKE_CXX_COMPILER}. Use the preset: "
      "`cmake --preset windows`, or pass -DCMAKE_C_COMPILER=clang-cl -DCMAKE_CXX_COMPILER=clang-cl (Visual Studio: -T ClangCL).")
  endif()
  list(TRANSFORM EXECUTORCH_KERNEL_OPTIONS PREPEND "/clang:")
endif()
if(NOT EXECUTORCH_OPTIMIZE_SIZE AND NOT EXECUTORCH_SANITIZE)
  list(PREPEND EXECUTORCH_KERNEL_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
endif()

function(executorch_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  # Only libraries that are declared with UNITY are compiled in batches: others define a name in several files.
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
  if(NOT CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO|Zephyr)$")
    # Firmware runs at the address for which it was linked; other libraries may be linked into a shared one.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  executorch_gnu_options(${target} -Wall -Wextra -ffunction-sections -fdata-sections)
  target_compile_options(${target} PRIVATE
    # A loop that is not vectorised is slower, not wrong; with sanitizers most are not.
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)
  if(MINGW)
    # MinGW's GCC 12 treats the tables of flatbuffers as objects of size 0, and checks formats by the rules of Microsoft's
    # oldest C library, which is not the one that is linked.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread> -Wno-format)
  endif()
  if(EXECUTORCH_ENABLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror
      # std::stable_sort of libstdc++ 12 calls a deprecated function of libstdc++. Clang 19 warns about it in our files, which
      # instantiate the template.
      $<$<CXX_COMPILER_ID:Clang>:-Wno-error=deprecated-declarations>)
  endif()
  if(EXECUTORCH_OPTIMIZE_SIZE)
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Os>)
  endif()
  if(EXECUTORCH_SANITIZE)
    # The vptr check needs RTTI, and the freestanding libraries are built without RTTI.
    target_compile_options(${target} PRIVATE
      -fsanitize=${EXECUTORCH_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all
      -O1 -g1  # takes a third of the time to compile, and stack traces need no more
      # With instrumentation, gcc loses information about std::optional and flatbuffers' tables, and warns without
      # reason.
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-stringop-overread>)
    target_link_options(${target} PUBLIC -fsanitize=${EXECUTORCH_SANITIZE})
  endif()
endfunction()

# executorch_library(name [FREESTANDING] [UNITY] SOURCES a.cpp ... [LIBS x ...])
# FREESTANDING: compiled without exceptions and RTTI (runtime and kernels). UNITY: see executorch_unity(). Built when something
# links it or an option (cmake/Package.cmake) makes it part of `all`.
function(executorch_library name)
  cmake_parse_arguments(ARG "FREESTANDING;UNITY" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  add_library(executorch::${name} ALIAS ${name})
  executorch_compile_options(${name})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${EXECUTORCH_INCLUDE_ROOT}>")
  # The readers of the formats are inside the libraries, so projects with an installed library do not need flatbuffers.
  list(TRANSFORM ARG_LIBS REPLACE "^executorch_flatbuffers$" "$<BUILD_INTERFACE:executorch_flatbuffers>")
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  if(ARG_UNITY)
    executorch_unity(${name} 12)
  endif()
  if(ARG_FREESTANDING)
    executorch_gnu_options(${name} -fno-exceptions -fno-rtti)
  endif()
endfunction()

# executorch_unity(target count): compiles the target's sources in batches of `count` files, which takes half the time where
# headers are most of it. -DCMAKE_UNITY_BUILD=OFF compiles each file by itself, for tools that read the commands.
function(executorch_unity target count)
  if(NOT DEFINED CMAKE_UNITY_BUILD OR CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# executorch_kernel_options(target): compiles kernels for speed, and parses the headers of the standard library once. The
# project's own headers are not precompiled: GCC identifies a file with `#pragma once` by a checksum of its bytes, but ccache
# reuses a precompiled header when only comments or indentation differ. Tools of other systems do not support precompiled
# headers, or compile for several processors at once; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON turns them off.
function(executorch_kernel_options target)
  target_compile_options(${target} PRIVATE ${EXECUTORCH_KERNEL_OPTIONS})
  # The runtime traces the calls of kernels, so kernels compile to the same object files with event tracers and without.
  set_target_properties(${target} PROPERTIES EXECUTORCH_UNTRACED ON)
  if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cinttypes> <cmath> <complex> <cstdarg> <cstddef>
      <cstdint> <cstring> <initializer_list> <iterator> <limits> <memory> <new> <optional> <string_view> <type_traits>
      <utility>)
  endif()
endfunction()

# tests/share.h, which chooses a part of a sweep.
add_library(executorch_test_share INTERFACE)
target_include_directories(executorch_test_share INTERFACE "${PROJECT_SOURCE_DIR}/tests")

# The checks of undefined behaviour are for the libraries: in the assertions of tests they take a third of the time.
set(executorch_test_options "")
if(EXECUTORCH_SANITIZE MATCHES "undefined")
  set(executorch_test_options -fno-sanitize=undefined)
endif()

# executorch_test(name [OPTIMIZED | PYTORCH] [RELEASE] [PREFIX p.] SOURCES a_test.cpp ... [LIBS x ...] [DEFINES d ...]
#                 [PATHS d ...]): a GoogleTest program whose cases ctest lists one by one, with the prefix before their names.
# OPTIMIZED: for tests whose own code computes much, or tests inlined code of headers as users compile it. Other tests are
# compiled without optimisation and with one precompiled header, which takes half the time; the libraries that they test are
# compiled as in any build. PYTORCH: the headers need C++20, for which the precompiled header is not compiled. RELEASE: the
# optimisation of the libraries, or the lack of an event tracer, may change the results, so the test runs in a release build,
# too (EXECUTORCH_RELEASE_TESTS_ONLY), as tests with OPTIMIZED or PYTORCH do. PATHS are constants of tests/paths.h:
# NAME=path.
# Does nothing unless EXECUTORCH_BUILD_TESTS is on.
function(executorch_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;PYTORCH;RELEASE" "PREFIX" "SOURCES;LIBS;DEFINES;PATHS" ${ARGN})
  if(NOT EXECUTORCH_BUILD_TESTS OR
     (EXECUTORCH_RELEASE_TESTS_ONLY AND NOT (ARG_OPTIMIZED OR ARG_PYTORCH OR ARG_RELEASE)))
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  executorch_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINES})
  if(ARG_PATHS)
    executorch_test_paths(${name} ${ARG_PATHS})
  endif()
  target_compile_options(${name} PRIVATE ${executorch_test_options})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(NOT ARG_OPTIMIZED AND NOT ARG_PYTORCH)
    executorch_precompile_gtest(${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" DISCOVERY_TIMEOUT 60)
endfunction()

# executorch_stand_in(target test OUTPUT file [OWN_PAYLOADS] SOURCES a.cpp ...): the library lib<file>.so, which has the functions
# of a vendor's library and computes reference payloads of sdk.backends.npu, for a test with the fixture of stand_in_test.h.
# OWN_PAYLOADS: it computes other payloads.
function(executorch_stand_in target test)
  cmake_parse_arguments(ARG "OWN_PAYLOADS" "OUTPUT" "SOURCES" ${ARGN})
  if(NOT TARGET ${test})
    return()
  endif()
  set(folder "${EXECUTORCH_SOURCE_ROOT}/sdk/cpp/executorch/extension/delegate/test")
  add_library(${target} SHARED EXCLUDE_FROM_ALL ${ARG_SOURCES})
  if(NOT ARG_OWN_PAYLOADS)
    target_sources(${target} PRIVATE
      "${folder}/reference_graph.cpp" "${folder}/reference_operators.cpp" "${folder}/reference_sums.cpp")
  endif()
  target_include_directories(${target} PRIVATE "${folder}")
  target_compile_features(${target} PRIVATE cxx_std_17)
  # It has no SONAME, because the loader must not find it by the names that the delegate tries.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${ARG_OUTPUT}" CXX_VISIBILITY_PRESET hidden NO_SONAME ON)
  target_include_directories(${test} PRIVATE "${folder}")
  target_sources(${test} PRIVATE "${EXECUTORCH_SOURCE_ROOT}/tests/faults/faults.cpp")
  executorch_inject_faults(${test})
  target_link_libraries(${test} PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(${test} ${target})
endfunction()

# executorch_test_paths(name CONSTANT=path ...): the target defines these constants of tests/paths.h, in a source of its build folder.
function(executorch_test_paths name)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}_paths.cpp")
  set(content "#include \"paths.h\"\n")
  foreach(path IN LISTS ARGN)
    string(REGEX REPLACE "^([A-Za-z]+)=\"?([^\"]*)\"?$" "const char* const executorch::tests::\\1 = \"\\2\";\n" definition "${path}")
    string(APPEND content "${definition}")
  endforeach()
  file(GENERATE OUTPUT "${source}" CONTENT "${content}" TARGET ${name})
  target_sources(${name} PRIVATE "${source}")
  set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${name} PRIVATE executorch_test_share)
endfunction()

# executorch_inject_faults(name): a test that has the sources of tests/faults lets its n-th allocation or read fail. The linker
# redirects the C functions: GNU ld, lld and gold can.
function(executorch_inject_faults name)
  if(TARGET ${name})
    target_include_directories(${name} PRIVATE "${EXECUTORCH_SOURCE_ROOT}/tests/faults")
    foreach(function malloc calloc realloc posix_memalign free strdup pread mmap)
      target_link_options(${name} PRIVATE "LINKER:--wrap=${function}")
    endforeach()
  endif()
endfunction()

# Parsing GoogleTest's headers takes longer than compiling most tests: one target precompiles them for all tests with
# the same options.
function(executorch_precompile_gtest name)
  if(NOT TARGET executorch_gtest_headers)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/gtest_headers.cpp" CONTENT "int main() {}\n" @ONLY)
    # An executable, because libraries have other options for position-independent code.
    add_executable(executorch_gtest_headers EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/gtest_headers.cpp")
    executorch_compile_options(executorch_gtest_headers)
    target_compile_options(executorch_gtest_headers PRIVATE ${executorch_test_options} -O0)
    target_link_libraries(executorch_gtest_headers PRIVATE GTest::gmock GTest::gtest)
    target_precompile_headers(executorch_gtest_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM executorch_gtest_headers)
endfunction()

# executorch_json_reader: the JSON parser in the sources of flatbuffers, with which tests read the corpus' manifests. It
# is built without sanitizers, with which it takes a minute to compile.
function(executorch_add_json_reader)
  if(TARGET executorch_json_reader)
    return()
  endif()
  set(folder "${EXECUTORCH_THIRD_PARTY_DIR}/flatbuffers/src")
  add_library(executorch_json_reader STATIC EXCLUDE_FROM_ALL "${folder}/idl_parser.cpp" "${folder}/util.cpp")
  target_compile_features(executorch_json_reader PRIVATE cxx_std_17)
  set_target_properties(executorch_json_reader PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(executorch_json_reader PRIVATE -w -O1 -g0)
  target_link_libraries(executorch_json_reader PUBLIC executorch_flatbuffers)
endfunction()

# executorch_python_module(name DESTINATION sdk/a/package SOURCES a.cpp ... [LIBS x ...]): a pybind11 extension module that
# the wheel carries (install component `python`). Needs EXECUTORCH_BUILD_PYBIND.
function(executorch_python_module name)
  cmake_parse_arguments(ARG "" "DESTINATION" "SOURCES;LIBS" ${ARGN})
  pybind11_add_module(${name} MODULE NO_EXTRAS ${ARG_SOURCES})
  executorch_compile_options(${name})
  executorch_unity(${name} 4)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  if(ARG_DESTINATION)
    install(TARGETS ${name} LIBRARY DESTINATION "${ARG_DESTINATION}" COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endfunction()
