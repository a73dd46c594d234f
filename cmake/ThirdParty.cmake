# Third-party sources are never vendored. `scripts/third_party` puts pinned, hash-checked sources under
# <repo>/.cache/third_party; this file turns them into targets. The full source archive of a release has them in
# <repo>/third_party.
set(executorch_third_party_dir "${CMAKE_CURRENT_LIST_DIR}/../.cache/third_party")
if(IS_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/../third_party")
  set(executorch_third_party_dir "${CMAKE_CURRENT_LIST_DIR}/../third_party")
endif()
set(EXECUTORCH_THIRD_PARTY_DIR "${executorch_third_party_dir}" CACHE PATH "Where scripts/third_party unpacks")
set(EXECUTORCH_THIRD_PARTY_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/../scripts/third_party")

# executorch_missing_sources(variable name ...): the names whose pinned sources were missing when CMake began. The script
# starts once for all names: a start takes 0.15 s, and a build has a dozen names.
function(executorch_missing_sources variable)
  get_property(is_known GLOBAL PROPERTY executorch_current_sources SET)
  if(NOT is_known)
    execute_process(
      COMMAND "${EXECUTORCH_THIRD_PARTY_SCRIPT}" --output "${EXECUTORCH_THIRD_PARTY_DIR}" --current
      OUTPUT_VARIABLE current OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE " " ";" current "${current}")
    set_property(GLOBAL PROPERTY executorch_current_sources "${current}")
  endif()
  get_property(current GLOBAL PROPERTY executorch_current_sources)
  set(missing)
  foreach(name IN LISTS ARGN)
    if(NOT name IN_LIST current)
      list(APPEND missing "${name}")
    endif()
  endforeach()
  set(${variable} "${missing}" PARENT_SCOPE)
endfunction()

# executorch_fetch(name ...): puts the pinned sources into ${EXECUTORCH_THIRD_PARTY_DIR}/<name>. If they are there, it
# prints nothing and takes no time; a changed pin replaces them.
function(executorch_fetch)
  executorch_missing_sources(missing ${ARGN})
  if(NOT missing)
    return()
  endif()
  execute_process(
    COMMAND "${EXECUTORCH_THIRD_PARTY_SCRIPT}" --output "${EXECUTORCH_THIRD_PARTY_DIR}" ${missing}
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN ", " names)
    message(FATAL_ERROR "Sources of ${names} could not be fetched; the lines above say what was tried and what to do. "
      "${executorch_fetch_hint}")
  endif()
endfunction()

# executorch_third_party_option(name type value): an option of a third-party project; hidden in the list of our options.
macro(executorch_third_party_option name type value)
  set(${name} "${value}" CACHE ${type} "" FORCE)
  mark_as_advanced(${name})
endmacro()

executorch_fetch(flatbuffers)
add_library(executorch_flatbuffers INTERFACE)
target_include_directories(executorch_flatbuffers SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${EXECUTORCH_THIRD_PARTY_DIR}/flatbuffers/include>")

if(EXECUTORCH_BUILD_TESTS)
  # Some packages of GoogleTest come without GoogleMock.
  find_library(EXECUTORCH_GMOCK_LIBRARY gmock)
  mark_as_advanced(EXECUTORCH_GMOCK_LIBRARY)
  if(EXECUTORCH_GMOCK_LIBRARY)
    find_package(GTest 1.12 QUIET)
  endif()
  if(NOT GTest_FOUND)
    executorch_fetch(googletest)
    set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
    add_subdirectory("${EXECUTORCH_THIRD_PARTY_DIR}/googletest" third_party/googletest EXCLUDE_FROM_ALL)
    foreach(name gtest gtest_main gmock gmock_main)
      if(NOT TARGET GTest::${name})
        add_library(GTest::${name} ALIAS ${name})
      endif()
    endforeach()
  endif()
endif()

if(EXECUTORCH_BUILD_CPUINFO AND NOT TARGET cpuinfo)
  executorch_fetch(cpuinfo)
  executorch_third_party_option(CPUINFO_SOURCE_DIR PATH "${EXECUTORCH_THIRD_PARTY_DIR}/cpuinfo")
  executorch_third_party_option(CPUINFO_LIBRARY_TYPE STRING static)
  foreach(option TOOLS UNIT_TESTS MOCK_TESTS BENCHMARKS PKG_CONFIG)
    executorch_third_party_option(CPUINFO_BUILD_${option} BOOL OFF)
  endforeach()
  # A function limits the scope of what it sets. cpuinfo's CMake file requests an older policy version than CMake accepts.
  # cpuinfo is optimised in every build, so that all build directories share one ccache entry.
  function(executorch_add_cpuinfo)
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
    set(CMAKE_UNITY_BUILD OFF)
    set(CMAKE_BUILD_TYPE Release)
    add_subdirectory("${CPUINFO_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/third_party/cpuinfo" EXCLUDE_FROM_ALL SYSTEM)
  endfunction()
  executorch_add_cpuinfo()
  if(CMAKE_SYSTEM_NAME STREQUAL "Emscripten")  # cpuinfo's CMake file leaves this source out
    target_sources(cpuinfo PRIVATE "${CPUINFO_SOURCE_DIR}/src/emscripten/init.c")
  elseif(NOT WIN32)  # on Windows, a failed initialisation is still final
    target_sources(cpuinfo PRIVATE "${CMAKE_CURRENT_LIST_DIR}/cpuinfo/initialize.c")
    set_property(SOURCE "${CPUINFO_SOURCE_DIR}/src/init.c" TARGET_DIRECTORY cpuinfo
      APPEND PROPERTY COMPILE_DEFINITIONS pthread_once=executorch_initialize_cpuinfo)
  endif()
endif()

# SIMD code that is compiled from one source for each instruction set, with run-time dispatch. Fetched and built only if
# kernels need it.
function(executorch_add_highway)
  if(TARGET executorch_highway)
    return()
  endif()
  executorch_fetch(highway)
  set(folder "${EXECUTORCH_THIRD_PARTY_DIR}/highway")
  executorch_library(executorch_highway FREESTANDING
    SOURCES "${folder}/hwy/abort.cc" "${folder}/hwy/per_target.cc" "${folder}/hwy/targets.cc")
  target_include_directories(executorch_highway SYSTEM PUBLIC "$<BUILD_INTERFACE:${folder}>")
  # Baseline, AVX2 and AVX-512 on x86, and NEON without AES instructions on Arm; other targets would only make the
  # library larger. Tiles are arrays of vectors, which SVE does not support.
  set(disabled "HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL|HWY_AVX3_ZEN4|HWY_AVX3_SPR|HWY_ALL_SVE|HWY_NEON|HWY_NEON_BF16")
  if(EXECUTORCH_SANITIZE)
    # Instrumented, one kernel takes minutes to compile for AVX-512. Its source is the same as for AVX2, and release builds test both.
    string(APPEND disabled "|HWY_AVX3")
  endif()
  target_compile_definitions(executorch_highway PUBLIC "HWY_DISABLED_TARGETS=(${disabled})")
endfunction()

# The library that lays out the graphs of `sdk inspect --html` goes into the wheel. Without it, the build is complete
# except for this option, which then prints an error.
if(EXECUTORCH_BUILD_PYBIND)
  executorch_missing_sources(missing dagre)
  set(result 0)
  if(missing)
    execute_process(
      COMMAND "${EXECUTORCH_THIRD_PARTY_SCRIPT}" --output "${EXECUTORCH_THIRD_PARTY_DIR}" dagre
      RESULT_VARIABLE result)
  endif()
  if(result EQUAL 0)
    install(FILES "${EXECUTORCH_THIRD_PARTY_DIR}/dagre/dist/dagre.min.js" DESTINATION sdk/devtools/page
      COMPONENT python EXCLUDE_FROM_ALL)
    install(FILES "${EXECUTORCH_THIRD_PARTY_DIR}/dagre/LICENSE" DESTINATION sdk/devtools/page RENAME dagre.LICENSE
      COMPONENT python EXCLUDE_FROM_ALL)
  else()
    message(WARNING "dagre could not be fetched: `sdk inspect --html` will not work. Everything else does.")
  endif()
endif()

# executorch_add_c_library(name SOURCES a.c ... [INCLUDE folder] [DEFINES d ...] [CONFIGURED folder]): a third-party C
# library as executorch_<name>, from its pinned sources, without our warnings and sanitizers, with which yyjson takes
# minutes to compile. CONFIGURED: a folder of headers that were generated here.
function(executorch_add_c_library name)
  if(TARGET executorch_${name})
    return()
  endif()
  cmake_parse_arguments(ARG "" "INCLUDE;CONFIGURED" "SOURCES;DEFINES" ${ARGN})
  executorch_fetch(${name})
  set(folder "${EXECUTORCH_THIRD_PARTY_DIR}/${name}")
  list(TRANSFORM ARG_SOURCES PREPEND "${folder}/" REGEX "^[^/]")
  add_library(executorch_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(executorch_${name} PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_compile_options(executorch_${name} PRIVATE -w -ffunction-sections -fdata-sections)
  target_compile_definitions(executorch_${name} PUBLIC "$<BUILD_INTERFACE:${ARG_DEFINES}>")
  target_include_directories(executorch_${name} SYSTEM PUBLIC "$<BUILD_INTERFACE:${folder}/${ARG_INCLUDE}>")
  if(ARG_CONFIGURED)
    target_include_directories(executorch_${name} SYSTEM PUBLIC "$<BUILD_INTERFACE:${ARG_CONFIGURED}>")
  endif()
endfunction()

# Grammars for the answers of language models. It throws, whatever the flags of the including project are; our sources that
# call it catch. Like cpuinfo it is optimised in every build, without sanitizers, so that all build directories share its
# object files.
function(executorch_add_xgrammar)
  if(TARGET executorch_xgrammar)
    return()
  endif()
  set(executorch_fetch_hint "Nothing needs them without grammars: -DEXECUTORCH_BUILD_LLM_GRAMMAR=OFF.")
  executorch_fetch(xgrammar)
  set(CMAKE_BUILD_TYPE Release)
  add_subdirectory("${EXECUTORCH_SOURCE_ROOT}/cmake/xgrammar" "${CMAKE_BINARY_DIR}/third_party/xgrammar" EXCLUDE_FROM_ALL)
endfunction()

# Regular expressions on UTF-8, compiled to machine code if the system allows it.
function(executorch_add_pcre2)
  if(TARGET executorch_pcre2)
    return()
  endif()
  executorch_fetch(pcre2)
  set(folder "${EXECUTORCH_THIRD_PARTY_DIR}/pcre2/src")
  set(made "${CMAKE_BINARY_DIR}/third_party/pcre2")
  configure_file("${folder}/config.h.generic" "${made}/config.h" COPYONLY)
  configure_file("${folder}/pcre2.h.generic" "${made}/pcre2.h" COPYONLY)
  configure_file("${folder}/pcre2_chartables.c.dist" "${made}/pcre2_chartables.c" COPYONLY)
  set(names auto_possess chkdint compile compile_class config context convert dfa_match error extuni find_bracket jit_compile
    maketables match match_data newline ord2utf pattern_info script_run serialize string_utils study substitute substring
    tables ucd valid_utf xclass)
  list(TRANSFORM names REPLACE "(.+)" "src/pcre2_\\1.c")
  set(definitions HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 PCRE2_STATIC SUPPORT_PCRE2_8 SUPPORT_UNICODE)
  # Compilers for Mac Catalyst, and clang on Linux for all of Apple's systems, take the system from their target.
  if(NOT CMAKE_SYSTEM_NAME MATCHES "^(iOS|visionOS|Emscripten|WASI)$" AND NOT WASI
     AND NOT "${APPLE_TARGET} ${CMAKE_C_FLAGS}" MATCHES "-apple-(ios|xros)")
    list(APPEND definitions SUPPORT_JIT)
  endif()
  executorch_add_c_library(pcre2 SOURCES ${names} "${made}/pcre2_chartables.c" INCLUDE src CONFIGURED "${made}" DEFINES ${definitions})
endfunction()
