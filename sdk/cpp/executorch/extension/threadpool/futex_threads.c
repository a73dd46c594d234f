/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of pthreadpool on Linux, on Android and in WebAssembly. This file replaces its pthreads.c, with the same
 * interface and structures.
 *
 * In pthreads.c, the caller wakes all threads by a system call and waits until each has run, even if no work is left.
 * If another program uses a core, that takes milliseconds, until the system schedules the last thread, for a task of
 * microseconds. Here threads join a task while it is open. The caller computes the items that no thread has begun,
 * closes the task, and waits only for the threads that have joined. It makes a system call only if threads sleep. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#if defined(__EMSCRIPTEN__)
#include <emscripten/threading.h>
#else
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "threadpool-common.h"

#include "threadpool-atomics.h"
#include "threadpool-object.h"
#include "threadpool-utils.h"

#if !PTHREADPOOL_USE_FUTEX
#error "futex_threads.c needs pthreadpool's structure for futexes"
#endif

/* The bits of a pool's `command`. */
enum {
  kOpen = 1u << 0,         /* threads may join the task */
  kLeaderSleeps = 1u << 1, /* the caller sleeps until all joined threads have left */
  kThreadsSleep = 1u << 2, /* some threads sleep until the next task */
  kRest = 1u << 3,         /* threads sleep after this task, without spinning for another one */
  kEnd = 1u << 4,          /* threads return */
  kOneInside = 1u << 5,    /* bits 5 to 15: the number of threads that have joined */
  kOneTurn = 1u << 16,     /* the upper half: the number of the task */
};
#define INSIDE(word) ((word) & (kOneTurn - kOneInside))
#define TURN(word) ((word) & ~(uint32_t)(kOneTurn - 1))
/* The most threads that `command` can count. */
#define MOST_THREADS ((size_t)(kOneTurn / kOneInside))

/* Returns at once if the word has changed; may return early. */
static void sleep_at(pthreadpool_atomic_uint32_t* word, uint32_t value, bool is_caller) {
#if defined(__EMSCRIPTEN__)
  /* A thread that fails does not leave its task. In the thread that started the runtime, each call looks for such
   * threads and then ends in an error. */
  (void)emscripten_futex_wait(word, value, /*max_wait_ms=*/is_caller ? 100 : INFINITY);
#else
  (void)is_caller;
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
#endif
}

static void wake_all_at(pthreadpool_atomic_uint32_t* word) {
#if defined(__EMSCRIPTEN__)
  (void)emscripten_futex_wake(word, INT_MAX);
#else
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
#endif
}

/* Waits for the task after that of `last`. Returns its word. */
static uint32_t wait_for_turn(struct pthreadpool* pool, uint32_t last) {
  uint32_t word = pthreadpool_load_acquire_uint32_t(&pool->command);
  for (uint32_t i = last & kRest ? 0 : PTHREADPOOL_SPIN_WAIT_ITERATIONS; i != 0 && TURN(word) == TURN(last); --i) {
    pthreadpool_yield();
    word = pthreadpool_load_acquire_uint32_t(&pool->command);
  }
  while (TURN(word) == TURN(last)) {
    if (word & kThreadsSleep) {
      sleep_at(&pool->command, word, /*is_caller=*/false);
      word = pthreadpool_load_acquire_uint32_t(&pool->command);
    } else if (atomic_compare_exchange_weak_explicit(&pool->command, &word, word | kThreadsSleep, memory_order_acquire,
                                                     memory_order_acquire)) {
      word |= kThreadsSleep;
    }
  }
  return word;
}

/* Joins the task if it is open. `word` is the last value that was read. Returns false if the task is closed. */
static bool come_in(struct pthreadpool* pool, uint32_t* word) {
  while (*word & kOpen) {
    if (atomic_compare_exchange_weak_explicit(&pool->command, word, *word + kOneInside, memory_order_acquire,
                                              memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

static void leave(struct pthreadpool* pool) {
  const uint32_t before = atomic_fetch_sub_explicit(&pool->command, kOneInside, memory_order_release);
  if (INSIDE(before) == kOneInside && before & kLeaderSleeps) {
    wake_all_at(&pool->command);
  }
}

/* Closes the task: no thread joins it any more. Returns when all joined threads have left it. */
static void close_task(struct pthreadpool* pool) {
  uint32_t word = atomic_fetch_and_explicit(&pool->command, ~(uint32_t)kOpen, memory_order_acquire);
  for (uint32_t i = PTHREADPOOL_SPIN_WAIT_ITERATIONS; i != 0 && INSIDE(word) != 0; --i) {
    pthreadpool_yield();
    word = pthreadpool_load_acquire_uint32_t(&pool->command);
  }
  if (INSIDE(word) != 0) {
    word = atomic_fetch_or_explicit(&pool->command, kLeaderSleeps, memory_order_acquire) | kLeaderSleeps;
    while (INSIDE(word) != 0) {
      sleep_at(&pool->command, word, /*is_caller=*/true);
      word = pthreadpool_load_acquire_uint32_t(&pool->command);
    }
  }
}

/* Runs the thread's own share of the items, and then items of other threads that have not begun. */
static void work(struct pthreadpool* pool, struct thread_info* thread, thread_function_t function, uint32_t flags) {
  if (flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) {
    const struct fpu_state callers = get_fpu_state();
    disable_fpu_denormals();
    function(pool, thread);
    set_fpu_state(callers);
  } else {
    function(pool, thread);
  }
}

static void* run_thread(void* argument) {
  struct thread_info* thread = argument;
  struct pthreadpool* pool = thread->threadpool;
  uint32_t word = 0;
  while (!(word & kEnd)) {
    word = wait_for_turn(pool, word);
    if (come_in(pool, &word)) {
      work(pool, thread, (thread_function_t)pthreadpool_load_relaxed_void_p(&pool->thread_function),
           pthreadpool_load_relaxed_uint32_t(&pool->flags));
      leave(pool);
    }
  }
  return NULL;
}

/* Divides the items [first, end) among the threads; shares differ by at most one item. */
static void divide(struct pthreadpool* pool, size_t first, size_t end) {
  const struct fxdiv_result_size_t share = fxdiv_divide_size_t(end - first, pool->threads_count);
  for (size_t i = 0; i < pool->threads_count.value; ++i) {
    struct thread_info* thread = &pool->threads[i];
    const size_t count = share.quotient + (i < share.remainder ? 1 : 0);
    pthreadpool_store_relaxed_size_t(&thread->range_start, first);
    pthreadpool_store_relaxed_size_t(&thread->range_end, first + count);
    pthreadpool_store_relaxed_size_t(&thread->range_length, count);
    first += count;
  }
}

static void set_task(struct pthreadpool* pool, thread_function_t function, const void* params, size_t params_size,
                     void* task, void* context, uint32_t flags) {
  pthreadpool_store_relaxed_void_p(&pool->thread_function, (void*)function);
  pthreadpool_store_relaxed_void_p(&pool->task, task);
  pthreadpool_store_relaxed_void_p(&pool->argument, context);
  pthreadpool_store_relaxed_uint32_t(&pool->flags, flags);
  if (params_size != 0) {
    memcpy(&pool->params, params, params_size);
  }
}

/* A pool with only the calling thread, which allocates no memory. */
union caller_pool {
  struct pthreadpool pool;
  PTHREADPOOL_CACHELINE_ALIGNED char memory[sizeof(struct pthreadpool) + sizeof(struct thread_info)];
};

static void begin_turn(struct pthreadpool* pool, uint32_t bits) {
  const uint32_t turn = TURN(pthreadpool_load_relaxed_uint32_t(&pool->command)) + kOneTurn;
  if (atomic_exchange_explicit(&pool->command, turn | bits, memory_order_release) & kThreadsSleep) {
    wake_all_at(&pool->command);
  }
}

/* A task that uses the pool that it runs on must not wait for its threads, nor may a thread that such a task waits for.
 * So a caller that finds the pool busy runs its items itself, one thread's share at a time, until the pool is free. */
PTHREADPOOL_INTERNAL void pthreadpool_parallelize(struct pthreadpool* pool, thread_function_t function,
                                                  const void* params, size_t params_size, void* task, void* context,
                                                  size_t items, uint32_t flags) {
  size_t first = 0;
  if (pthread_mutex_trylock(&pool->execution_mutex) != 0) {
    union caller_pool caller;
    memset(&caller, 0, sizeof(caller));
    caller.pool.threads_count = fxdiv_init_size_t(1);
    set_task(&caller.pool, function, params, params_size, task, context, flags);
    const size_t share = items / pool->threads_count.value + 1;
    do {
      const size_t end = items - first > share ? first + share : items;
      divide(&caller.pool, first, end);
      work(&caller.pool, &caller.pool.threads[0], function, flags);
      first = end;
      if (first == items) {
        return;
      }
    } while (pthread_mutex_trylock(&pool->execution_mutex) != 0);
  }
  /* No thread has joined, so no thread reads the fields that change here. */
  set_task(pool, function, params, params_size, task, context, flags);
  divide(pool, first, items);
  begin_turn(pool, kOpen | (flags & PTHREADPOOL_FLAG_YIELD_WORKERS ? kRest : 0));
  work(pool, &pool->threads[0], function, flags);
  close_task(pool);
  pthread_mutex_unlock(&pool->execution_mutex);
}

/* Null if memory runs out. If the system refuses more threads, the pool has fewer. */
struct pthreadpool* pthreadpool_create(size_t threads_count) {
  if (threads_count == 0) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    threads_count = processors > 0 ? (size_t)processors : 1;
  }
  threads_count = threads_count < MOST_THREADS ? threads_count : MOST_THREADS;
  struct pthreadpool* pool = pthreadpool_allocate(threads_count);
  if (pool == NULL) {
    return NULL;
  }
  /* The creating thread is the first thread of the pool. */
  pool->threads[0].threadpool = pool;
  pthread_mutex_init(&pool->execution_mutex, NULL);
  size_t made = 1;
  while (made < threads_count) {
    struct thread_info* thread = &pool->threads[made];
    thread->thread_number = made;
    thread->threadpool = pool;
    if (pthread_create(&thread->thread_object, NULL, run_thread, thread) != 0) {
      break;
    }
    ++made;
  }
  /* Threads read the count only in a task. */
  pool->threads_count = fxdiv_init_size_t(made);
  return pool;
}

void pthreadpool_destroy(struct pthreadpool* pool) {
  if (pool == NULL) {
    return;
  }
  begin_turn(pool, kEnd);
  for (size_t i = 1; i < pool->threads_count.value; ++i) {
    pthread_join(pool->threads[i].thread_object, NULL);
  }
  pthread_mutex_destroy(&pool->execution_mutex);
  pthreadpool_deallocate(pool);
}
