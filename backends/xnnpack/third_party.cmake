# SPDX-License-Identifier: BSD-3-Clause
# XNNPACK from its pinned sources: static, without its tests, benchmarks and downloads. pthreadpool is the one of
# extension_threadpool, so that a process has one pool; cpuinfo is that of cmake/ThirdParty.cmake. Compiled once a build
# directory: about three minutes of one core, which ccache remembers.
executorch_fetch(xnnpack cpuinfo pthreadpool fxdiv)

executorch_third_party_option(FXDIV_SOURCE_DIR PATH "${EXECUTORCH_THIRD_PARTY_DIR}/fxdiv")
executorch_third_party_option(PTHREADPOOL_SOURCE_DIR PATH "${EXECUTORCH_THIRD_PARTY_DIR}/pthreadpool")
executorch_third_party_option(XNNPACK_LIBRARY_TYPE STRING static)
executorch_third_party_option(XNNPACK_ENABLE_GEMM_M_SPECIALIZATION BOOL ON)  # runtime/kernels/product_tiles.h relies on it
foreach(option XNNPACK_BUILD_TESTS XNNPACK_BUILD_BENCHMARKS XNNPACK_BUILD_ALL_MICROKERNELS XNNPACK_ENABLE_KLEIDIAI)
  executorch_third_party_option(${option} BOOL OFF)
endforeach()

# executorch_keep_lists_of_kernels(): sets Python_EXECUTABLE, with which XNNPACK lists its kernels, to the script kept_lists.sh.in.
macro(executorch_keep_lists_of_kernels)
  if(CMAKE_HOST_UNIX AND EXISTS "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/.content-sha256")
    executorch_find_codegen_python()
    set(real_python "${EXECUTORCH_CODEGEN_PYTHON}")
    if(Python_EXECUTABLE)
      set(real_python "${Python_EXECUTABLE}")
    endif()
    file(STRINGS "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/.content-sha256" hash LIMIT_COUNT 1)
    set(kept "${EXECUTORCH_THIRD_PARTY_DIR}/.xnnpack-lists-${hash}")
    foreach(text IN ITEMS real_python kept)
      string(REPLACE "'" "'\\''" ${text} "${${text}}")  # they are between apostrophes in the script
    endforeach()
    set(Python_EXECUTABLE "${CMAKE_BINARY_DIR}/third_party/xnnpack_python")
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kept_lists.sh.in" "${Python_EXECUTABLE}" @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endif()
endmacro()

# Optimised in every build, because XNNPACK itself is not debugged here, so that all build directories share ccache's entries.
# A function limits the scope of its variables.
function(executorch_add_xnnpack)
  # The CMake files of XNNPACK and its dependencies request older policy versions than CMake accepts.
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  set(BUILD_TESTING OFF)
  set(CMAKE_UNITY_BUILD OFF)
  set(CCACHE_BINARY OFF)  # else it sets the compiler launchers of the whole build
  set(CMAKE_BUILD_TYPE Release)
  if(CMAKE_SYSTEM_NAME STREQUAL "Emscripten")
    set(CMAKE_SYSTEM_NAME Linux)  # it refuses other names
  endif()
  executorch_keep_lists_of_kernels()
  add_subdirectory("${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack" "${CMAKE_BINARY_DIR}/third_party/xnnpack" EXCLUDE_FROM_ALL SYSTEM)
  # Our function plans the memory between operators, see runtime/private/memory_plan.cpp.
  set_source_files_properties("${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/src/runtime.c" TARGET_DIRECTORY XNNPACK
    PROPERTIES COMPILE_DEFINITIONS xnn_plan_value_allocation_tracker=executorch_xnnpack_plan_values)
  # Our function clears the padding, see runtime/private/packing.cpp.
  set_source_files_properties("${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/src/configs/gemm-config.c"
    "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/src/operators/batch-matrix-multiply-nc.c" TARGET_DIRECTORY XNNPACK operators
    PROPERTIES COMPILE_DEFINITIONS xnn_pack_f32_gemm_gio_w=executorch_xnnpack_pack_gio)
endfunction()
set(executorch_xnnpack_parts
  XNNPACK microkernels-prod allocator cache datatype hardware-config indirection logging memory microkernel-utils
  microparams-init mutex normalization operators operator-run operator-utils packing reference-ukernels subgraph)
foreach(part IN LISTS executorch_xnnpack_parts)
  if(TARGET ${part})
    message(FATAL_ERROR "The project has a target ${part}, which is a name of XNNPACK's, and the XNNPACK backend builds its own "
      "version with changes: install executorch and use find_package(executorch), or pass -DEXECUTORCH_BUILD_XNNPACK=OFF.")
  endif()
endforeach()
executorch_add_xnnpack()
if(CMAKE_SYSTEM_NAME STREQUAL "Emscripten")
  # XNNPACK's CMake files list the micro-kernels for WebAssembly, but do not build them.
  set(lists PROD_WASM_MICROKERNEL_SRCS PROD_WASMSIMD_MICROKERNEL_SRCS)
  if(EXECUTORCH_WASM_RELAXED_SIMD)
    list(APPEND lists PROD_WASMRELAXEDSIMD_MICROKERNEL_SRCS)
    foreach(part IN LISTS executorch_xnnpack_parts)
      target_compile_options(${part} PRIVATE -mrelaxed-simd)
    endforeach()
  endif()
  foreach(list IN LISTS lists)
    get_directory_property(sources DIRECTORY "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack" DEFINITION ${list})
    set_property(TARGET microkernels-prod APPEND PROPERTY SOURCES ${sources})
  endforeach()
  # XNNPACK's src/xnnpack/math.h does not include the header of a function that it calls for WebAssembly.
  foreach(part IN LISTS executorch_xnnpack_parts)
    target_compile_options(${part} PRIVATE "SHELL:-include math.h")
  endforeach()
  target_compile_options(microkernels-prod PRIVATE "SHELL:-include \"${CMAKE_CURRENT_LIST_DIR}/kept_nan_web.h\"")
  target_include_directories(microkernels-prod BEFORE PRIVATE "${CMAKE_CURRENT_LIST_DIR}/web_include")  # arm_neon.h
endif()
list(APPEND executorch_xnnpack_parts cpuinfo)
set_target_properties(${executorch_xnnpack_parts} PROPERTIES
  POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
  # XNNPACK calls kernels through pointers, so link-time optimisation of its files gains nothing and takes long.
  INTERPROCEDURAL_OPTIMIZATION OFF)
# XNNPACK pads quantisation parameters less than its tallest kernels need, see quantization_padding.h.
foreach(part operator-run operators subgraph XNNPACK)
  target_compile_options(${part} PRIVATE "SHELL:-include \"${CMAKE_CURRENT_LIST_DIR}/quantization_padding.h\"")
endforeach()
# Includes a header before the micro-kernels that match the patterns; each header describes the defect that it fixes.
function(executorch_xnnpack_include header)
  list(TRANSFORM ARGN PREPEND "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack/src/" OUTPUT_VARIABLE patterns)
  file(GLOB kernels ${patterns})
  set_property(SOURCE ${kernels} TARGET_DIRECTORY microkernels-prod
    APPEND PROPERTY COMPILE_OPTIONS -include "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${header}")
endfunction()
executorch_xnnpack_include(unaligned_loads.h "qd8-f32-qb4w-gemm/gen/*x4c8-minmax-*-ld128.c"
  "qd8-f32-qb4w-gemm/gen/*x16c8-minmax-avx512vnni*-prfm.c")
executorch_xnnpack_include(kept_nan.h f32-avgpool/*-sse-c4.c f32-pavgpool/*-sse-c4.c f32-dwconv/gen/*-sse.c
  f32-gemm/gen/*-sse.c f32-gemm/gen/*-sse-load1.c f32-igemm/gen/*-sse.c f32-igemm/gen/*-sse-load1.c
  f32-vclamp/gen/*-sse-u8.c f32-vmulcaddc/gen/*-sse-2x.c
  f16-avgpool/*-f16c-c8.c f16-pavgpool/*-avx2-c8.c f16-dwconv/gen/*-fma3.c f16-dwconv/gen/*-fma3-acc2.c
  f16-f32acc-gemm/gen/*-avx2-broadcast.c f16-f32acc-igemm/gen/*-avx2-broadcast.c f16-vclamp/gen/*-f16c-u16.c
  f16-vmulcaddc/gen/*-fma3-2x.c)
executorch_xnnpack_include(half_roots.h f16-vrsqrt/gen/*-neonfp16arith-*.c)
executorch_xnnpack_include(large_numbers.h f32-vsigmoid/gen/*-avx512f-rr2-lut32-p2-perm2-scalef-div-u64.c)
executorch_xnnpack_include(depth_rest.h f32-gemm/gen/*x2c4-minmax-sse.c f32-igemm/gen/*x2c4-minmax-sse.c
  f32-gemm/gen/*x16s4-minmax-fma3-broadcast.c f32-igemm/gen/*x16s4-minmax-fma3-broadcast.c
  f32-gemm/gen/*x8s4-minmax-neonfma.c f32-igemm/gen/*x8s4-minmax-neonfma.c)
# Compiles the micro-kernels that have the same flags in batches, because most of the time of a single one goes into the
# compiler's headers of vector instructions (280 s of CPU time become 42). Their folder is the same in a project that has this one
  # as a subdirectory, so that ccache has its object files. Call it after all properties of the files are set.
function(executorch_batch_xnnpack_kernels)
  set(folder "${EXECUTORCH_THIRD_PARTY_DIR}/xnnpack")
  get_target_property(sources microkernels-prod SOURCES)
  list(REMOVE_DUPLICATES sources)  # it names some twice
  set(groups "")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "^src/.+[.]c$")  # assembly
      list(APPEND batches "${source}")
      continue()
    endif()
    foreach(property COMPILE_FLAGS COMPILE_OPTIONS)
      get_source_file_property(${property} "${folder}/${source}" TARGET_DIRECTORY microkernels-prod ${property})
    endforeach()
    string(REGEX MATCH "scalar" kind "${source}")  # its header of vectors has the names of that for NEON
    string(MD5 group "${COMPILE_FLAGS} ${COMPILE_OPTIONS} ${kind}")
    if(NOT group IN_LIST groups)
      list(APPEND groups ${group})
      set(flags_${group} ${COMPILE_FLAGS})
      set(options_${group} ${COMPILE_OPTIONS})
    endif()
    string(APPEND includes_${group} "#include \"${source}\";")
  endforeach()
  foreach(group IN LISTS groups)
    set(number 0)
    list(LENGTH includes_${group} count)  # with an empty element at the end
    while(number LESS count)
      list(SUBLIST includes_${group} ${number} 40 part)
      list(JOIN part "\n" text)
      set(batch "${CMAKE_BINARY_DIR}/third_party/xnnpack_microkernels/${group}_${number}.c")
      if(text)
        file(CONFIGURE OUTPUT "${batch}" CONTENT "${text}\n" @ONLY)
        list(APPEND batches "${batch}")
        foreach(property flags options)
          if(${property}_${group})
            string(TOUPPER "COMPILE_${property}" name)
            set_property(SOURCE "${batch}" TARGET_DIRECTORY microkernels-prod PROPERTY ${name} ${${property}_${group}})
          endif()
        endforeach()
      endif()
      math(EXPR number "${number} + 40")
    endwhile()
  endforeach()
  set_target_properties(microkernels-prod PROPERTIES SOURCES "${batches}")
  target_include_directories(microkernels-prod PRIVATE "${folder}")
  executorch_gnu_options(microkernels-prod -ffunction-sections)  # a linker still leaves out single kernels
endfunction()
executorch_batch_xnnpack_kernels()
# XNNPACK's assertions are on, and AddressSanitizer reports its writes out of bounds. Its reads may go past the end of a
# buffer by less than a vector.
if(EXECUTORCH_SANITIZE MATCHES "address")
  foreach(part IN LISTS executorch_xnnpack_parts)
    target_compile_options(${part} PRIVATE -UNDEBUG -fsanitize=address -fno-omit-frame-pointer
      "$<IF:$<C_COMPILER_ID:Clang,AppleClang>,SHELL:-mllvm -asan-instrument-reads=0,--param=asan-instrument-reads=0>")
  endforeach()
endif()
