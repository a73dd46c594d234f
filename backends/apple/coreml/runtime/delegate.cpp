// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/platform/log.h>

#include "container.h"
#include "model_cache.h"

namespace executorch {
namespace backends {
namespace coreml {

using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::NamedDataMap;
using runtime::Result;
using runtime::Span;

namespace {

constexpr char kPackage[] = "model.mlpackage";
constexpr char kCompiled[] = "model.mlmodelc";
constexpr char kCacheName[] = "/executorch_coreml";

/// For a model that was compiled when it was exported.
Result<std::string> keep(const std::string& compiled) {
  return compiled;
}

}  // namespace

Error Delegate::load(const void* payload, size_t size, const NamedDataMap* data) {
  const auto shared = read_shared(payload, size);
  ET_CHECK_OK_OR_RETURN_ERROR(shared.error());
  if (!shared->has_value()) {
    return load_folder(payload, size, "");
  }
  const SharedModel& model = **shared;
  ET_CHECK_OR_RETURN_ERROR(data != nullptr, InvalidProgram,
                           "Core ML: the payload names the model %s, and the program has no named data",
                           model.key.c_str());
  const Result<FreeableBuffer> folder = data->get_data(model.key);
  if (!folder.ok() && folder.error() != Error::NotFound) {
    return folder.error();  // it exists, but cannot be read
  }
  ET_CHECK_OR_RETURN_ERROR(folder.ok(), InvalidProgram,
                           "Core ML: the payload names the model %s, which the program's named data do not have",
                           model.key.c_str());
  return load_folder(folder->data(), folder->size(), model.function_name);
}

Error Delegate::load_folder(const void* payload, size_t size, const std::string& function) {
  const auto folder = read_payload(payload, size);
  ET_CHECK_OK_OR_RETURN_ERROR(folder.error());
  const auto metadata = read_metadata(*folder);
  ET_CHECK_OK_OR_RETURN_ERROR(metadata.error());
  const auto names = metadata->functions.find(function);
  ET_CHECK_OR_RETURN_ERROR(names != metadata->functions.end(), InvalidProgram,
                           "Core ML: the payload's metadata.json has no function '%s'", function.c_str());
  const bool is_compiled = folder->has_folder(kCompiled);
  ET_CHECK_OR_RETURN_ERROR(is_compiled || folder->has_folder(kPackage), InvalidProgram,
                           "Core ML: the payload has neither the folder %s nor %s", kPackage, kCompiled);
  const char* const package = is_compiled ? kCompiled : kPackage;
  const ModelCache::Compile make = is_compiled ? keep : compile_model;
  const std::string key = cache_key(payload, size, system_version());
  const uint64_t limit = static_cast<uint64_t>(options_.cache_limit_mib) << 20;
  const auto open = [&](const std::string& path) {
    auto opened = open_model(path, function, options_.compute_unit, names->second);
    model_ = opened.ok() ? std::move(opened.get()) : nullptr;
    return opened.error();
  };
  const std::string first = options_.cache_dir.empty() ? caches_folder() + kCacheName : options_.cache_dir;
  // The system may remove what is in the temporary folder: a later start compiles it again.
  for (const std::string& place : {first, temporary_folder() + kCacheName}) {
    const auto cache = ModelCache::open(place, limit);
    if (!cache.ok()) {
      continue;
    }
    const std::string found = (*cache)->find(key);
    if (!found.empty()) {
      if (open(found) == Error::Ok) {
        return Error::Ok;
      }
      (*cache)->remove(key);  // it is damaged, or another process removed it
    }
    const auto made = (*cache)->add(key, *folder, package, make);
    if (made.error() != Error::AccessFailed) {
      return made.ok() ? open(*made) : made.error();
    }
  }
  ET_LOG(Error, "Core ML: the model can be written neither to %s nor to the temporary folder", first.c_str());
  return Error::AccessFailed;
}

Error Delegate::execute(Span<EValue*> args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return model_->execute(args);
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
