// SPDX-License-Identifier: BSD-3-Clause
// The board's services for the example: its clocks and pins, and messages over the serial port (115200 baud).
#include "board.h"

#include <executorch/runtime/platform/platform.h>

#include "board_hifi4.h"
#include "fsl_debug_console.h"
#include "pin_mux.h"

void start_board() {
  BOARD_InitBootPins();
  BOARD_InitDebugConsole();
}

extern "C" {

ET_NORETURN void et_pal_abort(void) {
  for (;;) {
  }
}

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
                             const char* message, size_t) {
  PRINTF("%c %s:%u] %s\r\n", static_cast<char>(level), filename, static_cast<unsigned>(line), message);
}

}  // extern "C"
