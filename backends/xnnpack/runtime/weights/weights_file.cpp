// SPDX-License-Identifier: BSD-3-Clause
#include "weights/weights_file.h"

#include <xnnpack.h>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Identifies the build of XNNPACK and the processor's features: packed weights are valid for both only.
ContentName find_version() {
  const ContentName name = name_content({sizeof(void*), 0}, xnn_experimental_get_build_identifier_data(),
                                        xnn_experimental_get_build_identifier_size());
  const auto* hardware = xnn_init_hardware_config();
  return hardware == nullptr ? name : name_content(name, hardware, sizeof(*hardware));
}

}  // namespace

std::unique_ptr<WeightsFile> open_weights_file(const std::string& path, bool writes) {
  static const extension::CacheOwner owner = {"XNNPACK", {'X', 'N', 'N', 'P', 'A', 'C', 'K', 'W'}, find_version()};
  return WeightsFile::open(path, owner, writes);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
