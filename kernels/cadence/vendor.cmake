# SPDX-License-Identifier: BSD-3-Clause
# Cadence's kernels for a family of DSPs. They are not part of this repository: the user gives their sources
# (CADENCE_KERNELS_DIR) and those of the library that they call (NN_LIB_BASE_DIR).

set(cadence_options EXECUTORCH_NNLIB_OPT EXECUTORCH_FUSION_G3_OPT EXECUTORCH_VISION_OPT)
set(cadence_family_of_EXECUTORCH_NNLIB_OPT hifi)
set(cadence_family_of_EXECUTORCH_FUSION_G3_OPT fusion_g3)
set(cadence_family_of_EXECUTORCH_VISION_OPT vision)
# By family: the name of the library, a header by which it is found, and the folders of headers and sources.
set(cadence_library_of_hifi "nnlib-hifi4 (https://github.com/foss-xtensa/nnlib-hifi4)")
set(cadence_header_of_hifi xa_nnlib/include/nnlib/xa_nnlib_api.h)
set(cadence_library_of_fusion_g3 "nnlib-FuG3 (backends/cadence/fusion_g3/third-party/nnlib/nnlib-FuG3 of ExecuTorch)")
set(cadence_header_of_fusion_g3 xa_nnlib/include/nnlib/xa_nnlib_kernels_api.h)
set(cadence_library_of_vision "the library for Vision (backends/cadence/vision/third-party of ExecuTorch)")
set(cadence_header_of_vision include/api.h)
foreach(family hifi fusion_g3)
  set(cadence_includes_of_${family} xa_nnlib/include xa_nnlib/include/nnlib xa_nnlib/algo/common/include xa_nnlib/algo/kernels
    xa_nnlib/algo/kernels/tables/include)
  set(cadence_sources_of_${family} xa_nnlib/algo/common/*.c xa_nnlib/algo/kernels/*.c)
endforeach()
set(cadence_includes_of_vision include include_private)
set(cadence_sources_of_vision library/*.c)

# cadence_chosen_family(variable): hifi, fusion_g3 or vision; empty without one of the options.
function(cadence_chosen_family variable)
  set(chosen "")
  foreach(option IN LISTS cadence_options)
    if(${option})
      list(APPEND chosen ${option})
    endif()
  endforeach()
  list(LENGTH chosen count)
  if(count GREATER 1)
    list(JOIN chosen " and " names)
    message(FATAL_ERROR "${names} exclude each other: one library has the kernels of one family of DSPs. Set one of them.")
  endif()
  set(${variable} "${cadence_family_of_${chosen}}" PARENT_SCOPE)
endfunction()

# cadence_vendor_kernels(family functions.yaml): makes the library cadence_vendor_kernels.
function(cadence_vendor_kernels family functions)
  set(header "${NN_LIB_BASE_DIR}/${cadence_header_of_${family}}")
  if(NOT NN_LIB_BASE_DIR OR NOT EXISTS "${header}")
    message(FATAL_ERROR "The kernels for ${family} call ${cadence_library_of_${family}}: expected its folder in NN_LIB_BASE_DIR, with "
      "${cadence_header_of_${family}}, found '${NN_LIB_BASE_DIR}'. Get the library and add -DNN_LIB_BASE_DIR=FOLDER, or build "
      "without the option for ${family}: the portable kernels need no library.")
  endif()
  file(GLOB operators CONFIGURE_DEPENDS "${CADENCE_KERNELS_DIR}/operators/*.cpp")
  if(NOT CADENCE_KERNELS_DIR OR NOT operators)
    message(FATAL_ERROR "The kernels for ${family} are Cadence's: expected a folder with operators/*.cpp in CADENCE_KERNELS_DIR, such "
      "as backends/cadence/${family} of ExecuTorch, found '${CADENCE_KERNELS_DIR}'. Add -DCADENCE_KERNELS_DIR=FOLDER, or build "
      "without the option for ${family}.")
  endif()
  cadence_check_functions("${functions}" "${operators}")

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CADENCE_KERNELS_DIR}/kernels/*.cpp")
  list(TRANSFORM cadence_sources_of_${family} PREPEND "${NN_LIB_BASE_DIR}/" OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE library CONFIGURE_DEPENDS ${globs})
  add_library(cadence_vendor_kernels STATIC ${operators} ${sources} ${library})
  list(TRANSFORM cadence_includes_of_${family} PREPEND "${NN_LIB_BASE_DIR}/" OUTPUT_VARIABLE includes)
  target_include_directories(cadence_vendor_kernels PRIVATE ${includes} "${CADENCE_KERNELS_DIR}/operators")
  # <executorch/backends/cadence/...> is in a checkout of ExecuTorch, whose other headers must come after this SDK's:
  # classes of the same names have other fields there.
  target_compile_options(cadence_vendor_kernels PRIVATE "SHELL:-idirafter \"${CADENCE_KERNELS_DIR}/../../../..\"")
  target_link_libraries(cadence_vendor_kernels PUBLIC executorch_core portable_kernels)
endfunction()

# cadence_check_functions(functions.yaml files): an error that names the functions that none of the files mentions.
function(cadence_check_functions functions files)
  set(text "")
  foreach(file IN LISTS files)
    file(READ "${file}" content)
    string(APPEND text "${content}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${functions}")
  file(STRINGS "${functions}" lines REGEX "kernel_name: impl::")
  set(missing "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*::" "" name "${line}")
    string(FIND "${text}" "${name}(" position)
    if(position EQUAL -1)
      list(APPEND missing "${name}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "${functions} names functions that no file of ${CADENCE_KERNELS_DIR}/operators has: ${missing}. Expected the "
      "sources of ExecuTorch 1.4.1 or of a later release.")
  endif()
endfunction()
