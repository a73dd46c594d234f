// SPDX-License-Identifier: BSD-3-Clause
// Text and numbers to the debugger or emulator, without the C library's printf.
#include <cmath>

#include "firmware.h"
#include "semihosting.h"

namespace firmware {

void write(const char* text) {
  semihosting_write(text);
}

void write_number(uint32_t value) {
  char text[11];
  char* begin = text + sizeof(text) - 1;
  *begin = '\0';
  do {
    *--begin = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  write(begin);
}

void write_float(float value) {
  if (std::signbit(value)) {
    write("-");
    value = -value;
  }
  if (!(value < 4294967040.0f)) {
    write(std::isnan(value) ? "nan" : std::isinf(value) ? "inf" : "more than 4294967040");
    return;
  }
  auto whole = static_cast<uint32_t>(value);
  uint32_t millionths = static_cast<uint32_t>((value - static_cast<float>(whole)) * 1e6f + 0.5f);
  if (millionths == 1000000) {
    ++whole;
    millionths = 0;
  }
  write_number(whole);
  write(".");
  for (uint32_t unit = 100000; unit > 0; unit /= 10) {
    const char digit[] = {static_cast<char>('0' + millionths / unit % 10), '\0'};
    write(digit);
  }
}

int fail(const char* what, executorch::runtime::Error error) {
  write("FAILED: ");
  write(what);
  write(": ");
  write(executorch::runtime::error_name(error));
  write("\n");
  return 1;
}

}  // namespace firmware
