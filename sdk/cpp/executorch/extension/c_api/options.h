// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/backend_options_map.h>

/// Options of a load. Modules keep a copy.
struct et_options {
  struct DataBuffer {
    std::shared_ptr<const void> memory;
    size_t size;
  };

  et_load_mode load_mode = ET_LOAD_MODE_MMAP;
  bool verify = true;
  bool share_memory = false;
  std::vector<std::string> data_files;
  std::vector<DataBuffer> data_buffers;
  std::map<std::string, std::vector<executorch::runtime::BackendOption>> backend_options;
  et_event_sink event_sink = nullptr;
  void* event_context = nullptr;
  bool all_events = false;
  bool etdump = false;
};

namespace executorch {
namespace extension {
namespace c_api {

/// The load mode of `options`, whose numbers are those of et_load_mode.
inline Module::LoadMode load_mode_of(const et_options& options) {
  static constexpr Module::LoadMode kModes[] = {Module::LoadMode::File, Module::LoadMode::Mmap,
                                                Module::LoadMode::MmapUseMlock,
                                                Module::LoadMode::MmapUseMlockIgnoreErrors};
  return kModes[options.load_mode];
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
