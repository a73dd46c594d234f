// SPDX-License-Identifier: BSD-3-Clause
// Replaces pthread_once() in cpuinfo's src/init.c, which never runs again after a failure: if an allocation failed while
// the processor was examined, backends would have no cpuinfo until the process ends.
#include <cpuinfo/internal-api.h>
#include <pthread.h>

int executorch_initialize_cpuinfo(pthread_once_t* guard, void (*initialize)(void)) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  (void)guard;
  pthread_mutex_lock(&mutex);
  if (!cpuinfo_is_initialized) {
    initialize();
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}
