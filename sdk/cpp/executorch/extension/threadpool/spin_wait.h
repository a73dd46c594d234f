/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before pthreadpool's own sources: the number of iterations for which a thread spins before it sleeps, when
 * it waits for others or for work. pthreadpool's million is about 50 ms of `pause` on x86, which takes most of the
 * threads' time in the first run and while other programs use the processor. This number is 0.2 ms, longer than the gap
 * between two operators and a few times as long as waking a thread. */
#pragma once

#include "threadpool-common.h"

#undef PTHREADPOOL_SPIN_WAIT_ITERATIONS
#if defined(__i386__) || defined(__x86_64__)
#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 5000 /* of about 140 cycles */
#elif defined(__wasm__)
#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 15000 /* of a fence, which takes some 40 cycles */
#else
#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 150000 /* of a few cycles: `yield` does nothing on most Arm cores */
#endif
