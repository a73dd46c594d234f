# SPDX-License-Identifier: BSD-3-Clause
# cmake -DMODULE=... -DWASM_OPT=... [-DCCACHE=...] -P optimize.cmake: optimises a WebAssembly module in place, with the
# option that clang gives wasm-opt for -O3. That takes half a minute, so the result is kept in ccache's folder: a clone
# that links the same bytes copies it.
execute_process(COMMAND "${WASM_OPT}" --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
set(kept "")
if(CCACHE)
  execute_process(COMMAND "${CCACHE}" --get-config cache_dir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed AND IS_DIRECTORY "${folder}")
    file(SHA256 "${MODULE}" digest)
    string(SHA256 key "${version} -O3 ${digest}")
    set(kept "${folder}/wasm-opt/${key}.wasm")
  endif()
endif()
set(missing TRUE)
if(kept AND EXISTS "${kept}")
  file(COPY_FILE "${kept}" "${MODULE}.optimized" RESULT missing)  # 0 if it was copied
endif()
if(NOT missing)
  file(TOUCH "${kept}")
else()
  execute_process(COMMAND "${WASM_OPT}" "${MODULE}" -O3 -o "${MODULE}.optimized" COMMAND_ERROR_IS_FATAL ANY)
endif()
if(kept AND NOT EXISTS "${kept}")
  # Modules that no build of the last 30 days used are deleted.
  string(TIMESTAMP now "%s" UTC)
  file(GLOB modules "${folder}/wasm-opt/*.wasm")
  foreach(module IN LISTS modules)
    file(TIMESTAMP "${module}" used "%s" UTC)
    if(used STREQUAL "")
      continue()  # another build has deleted it
    endif()
    math(EXPR age "${now} - ${used}")
    if(age GREATER 2592000)
      file(REMOVE "${module}")
    endif()
  endforeach()
  # Renamed when it is whole, because another build may look for it.
  file(MAKE_DIRECTORY "${folder}/wasm-opt")
  string(RANDOM LENGTH 12 part)
  file(COPY_FILE "${MODULE}.optimized" "${kept}.${part}")
  file(RENAME "${kept}.${part}" "${kept}")
endif()
file(RENAME "${MODULE}.optimized" "${MODULE}")
