# SPDX-License-Identifier: BSD-3-Clause
# The HiFi 4 of an i.MX RT685: NXP's drivers for its serial port, and the two images that the Cortex-M33 copies into its memory.
# This file has not been run, because it needs the Xtensa compiler and NXP's SDK.
set(device "${NXP_SDK_ROOT_DIR}/devices/MIMXRT685S")
set(board "${NXP_SDK_ROOT_DIR}/boards/evkmimxrt685/dsp_examples/mu_polling/dsp")
file(GLOB drivers "${device}/drivers/fsl_*.c" "${device}/utilities/debug_console_lite/*.c" "${device}/utilities/str/fsl_str.c"
  "${NXP_SDK_ROOT_DIR}/components/lists/fsl_component_generic_list.c" "${NXP_SDK_ROOT_DIR}/components/uart/fsl_adapter_usart.c")
list(FILTER drivers INCLUDE REGEX "fsl_(clock|common|common_dsp|flexcomm|gpio|mu|reset|usart|assert|debug_console|str|component_generic_list|adapter_usart)\\.c$")
add_library(board_drivers STATIC ${drivers} "${device}/system_MIMXRT685S_dsp.c" "${board}/board_hifi4.c" "${board}/pin_mux.c")
target_include_directories(board_drivers PUBLIC "${NXP_SDK_ROOT_DIR}/components/uart" "${NXP_SDK_ROOT_DIR}/components/lists"
  "${device}" "${device}/drivers" "${device}/utilities/debug_console_lite" "${device}/utilities/str"
  "${NXP_SDK_ROOT_DIR}/CMSIS/Core/Include" "${board}")
target_compile_definitions(board_drivers PUBLIC CPU_MIMXRT685SFVKB_dsp MCUXPRESSO_SDK SDK_DEBUGCONSOLE=1
  SERIAL_PORT_TYPE_UART=1 DEBUG_CONSOLE_RX_ENABLE=0 PRINTF_FLOAT_ENABLE=1)

target_sources(cadence_executorch_example PRIVATE mimxrt685.cpp)
target_compile_definitions(cadence_executorch_example PRIVATE ET_BOARD)
target_link_libraries(cadence_executorch_example PRIVATE board_drivers)
target_link_options(cadence_executorch_example PRIVATE "-mlsp=${device}/xtensa/min-rt")

# The sections in the instruction memory, and all others.
add_custom_command(TARGET cadence_executorch_example POST_BUILD
  COMMAND "${CMAKE_OBJCOPY}" -O binary --only-section=.*.text --only-section=.*.literal --only-section=.ResetVector.*
    $<TARGET_FILE:cadence_executorch_example> "${CMAKE_BINARY_DIR}/dsp_text_release.bin"
  COMMAND "${CMAKE_OBJCOPY}" -O binary --only-section=.*.rodata --only-section=.*.data --only-section=.*.bss
    $<TARGET_FILE:cadence_executorch_example> "${CMAKE_BINARY_DIR}/dsp_data_release.bin"
  COMMENT "Writing dsp_text_release.bin and dsp_data_release.bin"
  VERBATIM)
