# SPDX-License-Identifier: BSD-3-Clause
# For projects that link their own libraries of kernels or backends. This package's libraries do not need it: linking
# them is enough.

# executorch_target_link_options_shared_lib(target): for a static library of the project that registers kernels or backends when
# the program starts (EXECUTORCH_LIBRARY, register_backend). Targets that link `target` get all of its object files. They are
# linked as object files, so no option of the linker is needed. Does nothing for libraries of this package and for shared ones.
function(executorch_target_link_options_shared_lib target)
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  if(NOT imported AND NOT TARGET executorch::${target} AND type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${target} INTERFACE "$<TARGET_OBJECTS:${target}>")
  endif()
endfunction()
