# SPDX-License-Identifier: BSD-3-Clause
# Names under which existing projects link libraries of this one, from ExecuTorch's CMake files and documents. Included by the
# build and, after find_package(), by the project.
foreach(_executorch_names IN ITEMS
    "extension_module extension_module_static"
    "llm_ops_lib custom_ops"
    "extension_llm_tokenizers tokenizers tokenizers::tokenizers"
    # Part of these libraries here, and named beside them there.
    "etdump flatccrt"
    "optimized_kernels optimized_portable_kernels")
  string(REPLACE " " ";" _executorch_names "${_executorch_names}")
  list(POP_FRONT _executorch_names _executorch_library)
  if(NOT TARGET ${_executorch_library})
    continue()
  endif()
  get_target_property(_executorch_aliased ${_executorch_library} ALIASED_TARGET)
  if(_executorch_aliased)
    set(_executorch_library ${_executorch_aliased})
  endif()
  foreach(_executorch_name IN LISTS _executorch_names)
    string(REGEX REPLACE "^.*::" "" _executorch_plain "${_executorch_name}")
    foreach(_executorch_alias IN ITEMS ${_executorch_name} executorch::${_executorch_plain})
      if(NOT TARGET ${_executorch_alias})
        add_library(${_executorch_alias} ALIAS ${_executorch_library})
      endif()
    endforeach()
  endforeach()
endforeach()
