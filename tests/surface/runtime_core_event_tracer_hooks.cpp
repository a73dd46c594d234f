// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/event_tracer_hooks.h>

#include "signatures.h"
