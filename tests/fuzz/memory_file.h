// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace executorch {
namespace fuzz {

/// A file with these bytes that has a path and takes no space on a disk, where the system has such files (Linux);
/// elsewhere a temporary file. Aborts if it cannot be made.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace fuzz
}  // namespace executorch
