# SPDX-License-Identifier: BSD-3-Clause
# Functions for firmware on the boards of examples/cortex_m.

if(EXECUTORCH_ENABLE_LOGGING)
  # The printf of the small C library lacks %zu and 64-bit integers, which messages use. The small C++ library is kept.
  string(REPLACE "--specs=nano.specs" "" CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS}")
  set(CMAKE_CXX_STANDARD_LIBRARIES "-lstdc++_nano -lsupc++_nano")
endif()

# cortex_m_board(variable): BOARD, or the board with TARGET_CPU.
function(cortex_m_board variable)
  if(NOT BOARD)
    set(boards cortex-m4 mps2-an386 cortex-m7 mps2-an500 cortex-m55 mps3-an547)
    list(FIND boards "${TARGET_CPU}" index)
    if(index LESS 0)
      message(FATAL_ERROR "No board of examples/cortex_m has a '${TARGET_CPU}': name a linker script of its boards/ with BOARD.")
    endif()
    math(EXPR index "${index} + 1")
    list(GET boards ${index} BOARD)
  endif()
  if(NOT EXISTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/boards/${BOARD}.ld")
    message(FATAL_ERROR "There is no linker script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/boards/${BOARD}.ld.")
  endif()
  set(${variable} "${BOARD}" PARENT_SCOPE)
endfunction()

# cortex_m_firmware(name RUN run_case.cpp PROGRAM file.pte [IN_FLASH file.bpte] [PLACEMENT folder]): the executable `name` with the
# kernels of PROGRAM. IN_FLASH is the file in flash, by default PROGRAM. placement.ld of the folder PLACEMENT, by default the board's
# own memory, says where the program and the scratch memory lie. ET_METHOD_MEMORY_BYTES and ET_TEMPORARY_MEMORY_BYTES are the sizes
# of the memory for a method, with its tensors, and for one kernel or delegate.
function(cortex_m_firmware name)
  cmake_parse_arguments(ARG "" "RUN;PROGRAM;IN_FLASH;PLACEMENT" "" ${ARGN})
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  cmake_path(GET here PARENT_PATH kernels)
  cmake_path(GET kernels PARENT_PATH kernels)
  string(APPEND kernels "/kernels")
  if(NOT ARG_IN_FLASH)
    set(ARG_IN_FLASH "${ARG_PROGRAM}")
  endif()
  if(NOT ARG_PLACEMENT)
    set(ARG_PLACEMENT "${here}/boards/one_memory")
  endif()
  cmake_path(GET ARG_PROGRAM PARENT_PATH program_folder)
  cortex_m_board(board)
  executorch_embed_program(model_in_flash PROGRAM "${ARG_IN_FLASH}" SYMBOL model_pte)
  executorch_kernels_for_program(model PROGRAM "${ARG_PROGRAM}"
    FUNCTIONS_YAML "${kernels}/portable/functions.yaml" "${kernels}/quantized/functions.yaml" "${kernels}/cortex_m/functions.yaml"
    SOURCES "${kernels}/portable/cpu" "${kernels}/quantized/cpu" "${kernels}/cortex_m/cpu")

  set(sources main.cpp text.cpp platform.cpp startup.c semihosting.c ${ARG_RUN})
  list(TRANSFORM sources PREPEND "${here}/")
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${here}" "${program_folder}")
  target_compile_definitions(${name} PRIVATE
    METHOD_MEMORY_BYTES=${ET_METHOD_MEMORY_BYTES} TEMPORARY_MEMORY_BYTES=${ET_TEMPORARY_MEMORY_BYTES}
    "SCRATCH_SECTION=\".scratch\"")
  target_link_libraries(${name} PRIVATE executorch model_ops_lib model_in_flash m)
  if(ARG_RUN STREQUAL "run_bundle.cpp")
    target_link_libraries(${name} PRIVATE bundled_program)
  endif()
  if(EXECUTORCH_BUILD_ARM_ETDUMP OR ET_PRINT_TICKS)
    target_sources(${name} PRIVATE "${here}/cycles.cpp")
  endif()
  if(ET_PRINT_TICKS)
    target_compile_definitions(${name} PRIVATE PRINT_TICKS)
  endif()
  if(EXECUTORCH_BUILD_ARM_ETDUMP)
    target_compile_definitions(${name} PRIVATE ETDUMP_MEMORY_BYTES=65536)
    target_link_libraries(${name} PRIVATE etdump)
  endif()
  # A backend sets the property if it takes memory from the heap. The C library's printf does, too.
  get_property(needs_heap GLOBAL PROPERTY EXECUTORCH_FIRMWARE_NEEDS_HEAP)
  if(needs_heap OR EXECUTORCH_ENABLE_LOGGING)
    target_sources(${name} PRIVATE "${here}/heap.c")
    target_compile_definitions(${name} PRIVATE HEAP_BYTES=262144)
  endif()
  target_link_options(${name} PRIVATE -nostartfiles "-T${here}/boards/${board}.ld" "-L${here}/boards" "-L${ARG_PLACEMENT}"
    "-Wl,-Map=$<TARGET_FILE:${name}>.map")
  set_target_properties(${name} PROPERTIES
    LINK_DEPENDS "${here}/boards/${board}.ld;${here}/boards/sections.ld;${ARG_PLACEMENT}/placement.ld")
endfunction()

# cortex_m_program(variable): ET_PTE_FILE_PATH as an absolute path, which must be a file.
function(cortex_m_program variable)
  cmake_path(ABSOLUTE_PATH ET_PTE_FILE_PATH BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" NORMALIZE)
  if(NOT EXISTS "${ET_PTE_FILE_PATH}" OR IS_DIRECTORY "${ET_PTE_FILE_PATH}")
    message(FATAL_ERROR "ET_PTE_FILE_PATH is '${ET_PTE_FILE_PATH}', which is not a file. examples/cortex_m/export_model.py and "
      "examples/arm/aot_arm_compiler.py make one.")
  endif()
  set(${variable} "${ET_PTE_FILE_PATH}" PARENT_SCOPE)
endfunction()

# cortex_m_check_devtools(): checks the options that ET_BUNDLE_IO and EXECUTORCH_BUILD_ARM_ETDUMP need.
function(cortex_m_check_devtools)
  foreach(needed EXECUTORCH_BUILD_DEVTOOLS EXECUTORCH_ENABLE_EVENT_TRACER)
    if((EXECUTORCH_BUILD_ARM_ETDUMP AND NOT ${needed}) OR (ET_BUNDLE_IO AND NOT EXECUTORCH_BUILD_DEVTOOLS))
      message(FATAL_ERROR "ET_BUNDLE_IO needs EXECUTORCH_BUILD_DEVTOOLS=ON, EXECUTORCH_BUILD_ARM_ETDUMP also "
        "EXECUTORCH_ENABLE_EVENT_TRACER=ON.")
    endif()
  endforeach()
endfunction()
