/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before pthreadpool's own sources: how many turns a thread waits awake for others, or for more to do, before
 * it sleeps. Theirs are a million, some fifty milliseconds of `pause` on x86: in the first run, and whenever another
 * program wants the processor, that is most of what the threads do. These are a fifth of a millisecond, longer than the
 * gap between two operators and a few times what waking a thread takes. */
#pragma once

#include "threadpool-common.h"

#undef PTHREADPOOL_SPIN_WAIT_ITERATIONS
#if defined(__i386__) || defined(__x86_64__)
#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 5000 /* of about 140 cycles */
#else
#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 150000 /* of a few cycles: `yield` does nothing on most Arm cores */
#endif
