// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace executorch {
namespace fuzz {

MemoryFile::MemoryFile(const uint8_t* data, size_t size) {
#ifdef __linux__
  descriptor_ = memfd_create("fuzz", 0);
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
#else
  char name[] = "/tmp/fuzz_XXXXXX";
  descriptor_ = mkstemp(name);
  path_ = name;
#endif
  for (size_t done = 0; descriptor_ >= 0 && done < size;) {
    const ssize_t count = write(descriptor_, data + done, size - done);
    if (count <= 0) {
      close(descriptor_);
      descriptor_ = -1;
      break;
    }
    done += static_cast<size_t>(count);
  }
  if (descriptor_ < 0) {
    std::perror("a file of the fuzzer");
    std::abort();
  }
}

MemoryFile::~MemoryFile() {
  close(descriptor_);
#ifndef __linux__
  unlink(path_.c_str());
#endif
}

}  // namespace fuzz
}  // namespace executorch
