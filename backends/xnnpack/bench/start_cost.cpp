// SPDX-License-Identifier: BSD-3-Clause
// The cost of a start, in a separate process:
//
//     start_cost model.pte [packed-weights-file]
//
// The program is mapped, its method "forward" loaded and executed once on zeros. Prints numbers, in this order:
// - CPU seconds of all threads for the backend's first use in the process, for loading the program and the method, and
//   for the first execution;
// - bytes of the largest resident set over the one before loading, without the inputs, which are the caller's;
// - how many of these bytes are the process's own at the end (the rest are pages of files, which the system may drop);
// - bytes of the program's planned memory;
// - how many of the process's own bytes the first execution added: the delegates' intermediate values and tables.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include "zeros.h"

namespace {

using executorch::extension::Module;
using executorch::runtime::Error;

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A field of /proc/self/status that is in kB, in bytes.
long status(const char* field) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kilobytes = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, field, std::strlen(field)) == 0) {
      std::sscanf(line + std::strlen(field), ": %ld", &kilobytes);
    }
  }
  if (file != nullptr) {
    std::fclose(file);
  }
  return kilobytes * 1024;
}

// proc(5): the largest resident set counts from now on.
void reset_peak() {
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

Error use_packed_weights(const char* path) {
  using namespace executorch::backends::xnnpack;
  executorch::runtime::BackendOptions<2> options;
  options.set_option(packed_cache_path_option_key, path);
  options.set_option(save_weight_cache_on_disk_option_key, true);
  return executorch::runtime::set_option(xnnpack_backend_key, options.view());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: start_cost model.pte [packed-weights-file]\n");
    return 1;
  }
  executorch::runtime::runtime_init();
  if (argc > 2 && use_packed_weights(argv[2]) != Error::Ok) {
    std::fprintf(stderr, "the backend does not take the file %s\n", argv[2]);
    return 1;
  }
  const double unused = cpu_seconds();
  const auto* backend = executorch::runtime::get_backend_class(executorch::backends::xnnpack::xnnpack_backend_key);
  if (backend == nullptr || !backend->is_available()) {
    std::fprintf(stderr, "XNNPACK does not run on this processor\n");
    return 1;
  }
  const double used = cpu_seconds();
  reset_peak();
  const long before = status("VmRSS"), own_before = status("RssAnon");
  const double start = cpu_seconds();
  Module module(argv[1], Module::LoadMode::Mmap);
  if (module.load() != Error::Ok || module.load_method("forward") != Error::Ok) {
    std::fprintf(stderr, "%s has no method \"forward\" that can be loaded\n", argv[1]);
    return 1;
  }
  const double loaded = cpu_seconds();
  const auto meta = module.method_meta("forward");
  if (!meta.ok()) {
    return 1;
  }
  size_t planned = 0;
  for (size_t index = 0; index < meta->num_memory_planned_buffers(); ++index) {
    planned += static_cast<size_t>(*meta->memory_planned_buffer_size(index));
  }
  executorch::bench::Zeros inputs;
  if (!inputs.make(*meta)) {
    return 1;
  }
  const long own_loaded = status("RssAnon");
  const double ready = cpu_seconds();
  if (!module.forward(inputs.values).ok()) {
    std::fprintf(stderr, "%s cannot be executed on zeros\n", argv[1]);
    return 1;
  }
  const double executed = cpu_seconds();
  const long own = status("RssAnon"), others = before + inputs.bytes();
  std::printf("%.9f %.9f %.9f %ld %ld %zu %ld\n", used - unused, loaded - start, executed - ready,
              status("VmHWM") - others, own - own_before - inputs.bytes(), planned, own - own_loaded);
  return 0;
}
