// SPDX-License-Identifier: BSD-3-Clause
#include "flat_tensor_driver.h"

#include <cstdlib>
#include <cstring>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/platform/runtime.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

using executorch::extension::BufferDataLoader;
using executorch::extension::FlatTensorDataMap;

namespace {

/// Many keys may name one segment, so not every value is copied.
constexpr size_t kMaxCopiedBytes = 1 << 16;

constexpr const char* kAbsentKey = "no such key";

bool read_key(const FlatTensorDataMap& map, const char* key) {
  const auto data = map.get_data(key);
  if (!data.ok()) {
    return false;
  }
  read_all(data->data(), data->size());
  const auto layout = map.get_tensor_layout(key);
  const size_t bytes = layout.ok() ? layout->nbytes() : data->size();
  if (bytes > data->size()) {
    std::abort();  // Verification has to refuse such files.
  }
  if (bytes > kMaxCopiedBytes) {
    return true;
  }
  ExactBuffer copy(bytes);
  return map.load_data_into(key, copy.data.get(), copy.bytes) == executorch::runtime::Error::Ok;
}

}  // namespace

Outcome run_flat_tensor(const uint8_t* data, size_t size) {
  executorch::runtime::runtime_init();
  const ExactBuffer bytes(data, size);
  BufferDataLoader loader(bytes.data.get(), bytes.bytes);
  const auto map = FlatTensorDataMap::load(&loader);
  if (!map.ok()) {
    return Outcome::Refused;
  }
  const auto count = map->get_num_keys();
  bool all = count.ok();
  bool has_absent = false;
  for (uint32_t i = 0; count.ok() && i < *count; ++i) {
    const auto key = map->get_key(i);
    // libFuzzer traces string comparisons, so it also makes files that have this key.
    has_absent |= key.ok() && std::strcmp(*key, kAbsentKey) == 0;
    all = all && key.ok() && read_key(*map, *key);
  }
  if (map->get_key(count.ok() ? *count : 0).ok() || (!has_absent && map->get_data(kAbsentKey).ok())) {
    std::abort();
  }
  return all ? Outcome::Executed : Outcome::Loaded;
}

}  // namespace fuzz
}  // namespace executorch
