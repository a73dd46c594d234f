// SPDX-License-Identifier: BSD-3-Clause
// A delegate: the model of a payload, loaded from the cache of compiled models.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <executorch/runtime/core/named_data_map.h>

#include "model.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace coreml {

class Delegate final {
 public:
  explicit Delegate(Options options) : options_(std::move(options)) {}

  /**
   * Loads the model of a payload. It is taken from the cache of compiled models, or compiled now.
   *
   * @param data Holds the models that methods share; null if the program has no named data.
   * @returns InvalidProgram (logged) for a damaged payload, AccessFailed (logged) if no folder can be written, or the
   *     errors of compile_model() and open_model().
   */
  runtime::Error load(const void* payload, size_t size, const runtime::NamedDataMap* data);

  /// Calls Model::execute(). Several threads may call it; they run one at a time.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  runtime::Error load_folder(const void* payload, size_t size, const std::string& function);

  const Options options_;
  std::unique_ptr<Model> model_;
  std::mutex mutex_;
};

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
