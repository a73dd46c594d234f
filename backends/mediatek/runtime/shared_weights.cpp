// SPDX-License-Identifier: BSD-3-Clause
#include "shared_weights.h"

#include <cstring>
#include <map>
#include <mutex>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace neuron {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::NamedDataMap;
using runtime::Result;

SharedWeights::SharedWeights(FreeableBuffer bytes)
    : bytes_(std::move(bytes)), size_(bytes_.size()), unit_(MemoryUnit::Create(size_)) {
  if (unit_ != nullptr) {
    std::memcpy(unit_->GetAddress(), bytes_.data(), size_);
  }
}

Result<std::shared_ptr<const SharedWeights>> SharedWeights::load(const std::string& key, const NamedDataMap* data) {
  ET_CHECK_OR_RETURN_ERROR(data != nullptr, NotFound,
                           "MediaTek: the program has no named data, expected its shared weights \"%s\" there",
                           key.c_str());
  auto found = data->get_data(key);
  if (!found.ok() && found.error() != Error::NotFound) {
    return found.error();  // they exist, but cannot be read
  }
  ET_CHECK_OR_RETURN_ERROR(found.ok() && found->size() > 0, NotFound,
                           "MediaTek: the program has no named data \"%s\", its shared weights: export it again",
                           key.c_str());
  static std::mutex mutex;
  static std::map<std::pair<const void*, size_t>, std::weak_ptr<const SharedWeights>> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& place = loaded[{found->data(), found->size()}];
  std::shared_ptr<const SharedWeights> weights = place.lock();
  if (weights == nullptr) {
    weights.reset(new SharedWeights(std::move(*found)));
    place = weights;
  }
  return weights;
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
