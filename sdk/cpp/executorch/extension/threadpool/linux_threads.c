/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of pthreadpool on Linux and Android, in place of its pthreads.c, whose interface and structures they
 * keep.
 *
 * There, whoever shares a task wakes all threads with a call of the system and waits until each of them has come, even
 * if nothing is left to do: where another program wants a core, that takes the milliseconds until the system lets the
 * last of them run, for a task of microseconds. Here threads come in while the task is open; the one that shares it
 * does what no one has begun, closes it, and waits only for those that are inside. The system is asked to wake threads
 * when some sleep. */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threadpool-common.h"

#include "threadpool-atomics.h"
#include "threadpool-object.h"
#include "threadpool-utils.h"

#if !PTHREADPOOL_USE_FUTEX
#error "linux_threads.c needs pthreadpool's structure for futexes"
#endif

/* What `command` of a pool holds. */
enum {
  kOpen = 1u << 0,         /* threads may come in */
  kLeaderSleeps = 1u << 1, /* until no one is inside */
  kThreadsSleep = 1u << 2, /* some, until the next turn */
  kRest = 1u << 3,         /* sleep after this task, without spinning for another one */
  kEnd = 1u << 4,          /* of the pool */
  kOneInside = 1u << 5,    /* below the turn: how many threads are inside */
  kOneTurn = 1u << 16,     /* in the upper half: the number of the task */
};
#define INSIDE(word) ((word) & (kOneTurn - kOneInside))
#define TURN(word) ((word) & ~(uint32_t)(kOneTurn - 1))
/* As many as can be counted inside. */
#define MOST_THREADS ((size_t)(kOneTurn / kOneInside))

/* Returns at once if the word is another one by then; may return early. */
static void sleep_at(pthreadpool_atomic_uint32_t* word, uint32_t value) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

static void wake_all_at(pthreadpool_atomic_uint32_t* word) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* The word of a task after that of `last`. */
static uint32_t wait_for_turn(struct pthreadpool* pool, uint32_t last) {
  uint32_t word = pthreadpool_load_acquire_uint32_t(&pool->command);
  for (uint32_t i = last & kRest ? 0 : PTHREADPOOL_SPIN_WAIT_ITERATIONS; i != 0 && TURN(word) == TURN(last); --i) {
    pthreadpool_yield();
    word = pthreadpool_load_acquire_uint32_t(&pool->command);
  }
  while (TURN(word) == TURN(last)) {
    if (word & kThreadsSleep) {
      sleep_at(&pool->command, word);
      word = pthreadpool_load_acquire_uint32_t(&pool->command);
    } else if (atomic_compare_exchange_weak_explicit(&pool->command, &word, word | kThreadsSleep, memory_order_acquire,
                                                     memory_order_acquire)) {
      word |= kThreadsSleep;
    }
  }
  return word;
}

/* Whether there was a task to come in to; `word` is what was seen last. */
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

/* From here on no thread comes in, and none is inside at the end. */
static void close_task(struct pthreadpool* pool) {
  uint32_t word = atomic_fetch_and_explicit(&pool->command, ~(uint32_t)kOpen, memory_order_acquire);
  for (uint32_t i = PTHREADPOOL_SPIN_WAIT_ITERATIONS; i != 0 && INSIDE(word) != 0; --i) {
    pthreadpool_yield();
    word = pthreadpool_load_acquire_uint32_t(&pool->command);
  }
  if (INSIDE(word) != 0) {
    word = atomic_fetch_or_explicit(&pool->command, kLeaderSleeps, memory_order_acquire) | kLeaderSleeps;
    while (INSIDE(word) != 0) {
      sleep_at(&pool->command, word);
      word = pthreadpool_load_acquire_uint32_t(&pool->command);
    }
  }
}

/* What the thread has to do of the task, its own part first and then what is left of those of others. */
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

/* Gives each thread its part of the items [first, end): as many as the others, or one more. */
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

/* A pool of the calling thread alone, which needs no other memory than its own. */
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

/* A task that asks for the threads of its own pool must not wait for them, nor may a thread that such a task waits for:
 * whoever finds the pool busy runs its items itself, a thread's share at a time, until the pool is free. */
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
  /* No one is inside, so no one reads what changes here. */
  set_task(pool, function, params, params_size, task, context, flags);
  divide(pool, first, items);
  begin_turn(pool, kOpen | (flags & PTHREADPOOL_FLAG_YIELD_WORKERS ? kRest : 0));
  work(pool, &pool->threads[0], function, flags);
  close_task(pool);
  pthread_mutex_unlock(&pool->execution_mutex);
}

/* Null where memory is not enough. Where the system has no more threads, the pool has those that there are. */
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
  /* Who makes the pool is its first thread. */
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
  /* Threads read it inside of a task only. */
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
