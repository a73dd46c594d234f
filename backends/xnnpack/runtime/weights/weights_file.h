// SPDX-License-Identifier: BSD-3-Clause
// A file of packed weights, which later processes map instead of packing the weights again.
#pragma once

#include <memory>
#include <string>

#include <executorch/extension/file_cache/content_name.h>
#include <executorch/extension/file_cache/file_cache.h>
#include <executorch/extension/file_cache/sha256.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using extension::ContentName;
using extension::MappedBytes;
using extension::name_content;
using extension::random_seed;
using extension::read_sha256;
using extension::Sha256;
using extension::sha256;

/// The cache key: XNNPACK's seed, which identifies the packed layout, and the names of the filter and of the bias.
using PackedKey = extension::CacheKey;
using WeightsFile = extension::FileCache;

/// FileCache::open() for the packed weights of this XNNPACK and this processor. Call it after xnn_initialize().
std::unique_ptr<WeightsFile> open_weights_file(const std::string& path, bool writes);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
