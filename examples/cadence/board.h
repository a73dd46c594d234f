// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#ifdef ET_BOARD
#include "fsl_debug_console.h"
#define ET_PRINTF PRINTF

/// Prepares clocks, pins and the serial port.
void start_board();
#else
#include <cstdio>
#define ET_PRINTF std::printf

inline void start_board() {}
#endif
