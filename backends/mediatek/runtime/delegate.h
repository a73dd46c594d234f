// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: a network that MediaTek's adapter has restored, and its execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/named_data_map.h>

#include "NeuronBufferAllocator.h"
#include "neuron_adapter.h"
#include "payload.h"
#include "shared_weights.h"

namespace executorch {
namespace backends {
namespace neuron {

/// The settings of the runtime in the compile specs of a program.
struct Settings {
  bool high_address = false;
  bool import_forever = false;
  std::string shared_weights;  ///< the key of named data; "" for none

  /// InvalidProgram (logged) for a value that is not what its key means. Other keys are options of the compiler.
  runtime::Error read(runtime::ArrayRef<runtime::CompileSpec> specs);
  /// The options of the adapter's compilation.
  std::string options() const;
};

/// An object of the adapter that is freed by one of its functions.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

class Delegate final {
 public:
  Delegate(const Adapter& adapter, Settings settings)
      : adapter_(adapter),
        settings_(std::move(settings)),
        model_(nullptr, adapter.model_free),
        compilation_(nullptr, adapter.compilation_free),
        execution_(nullptr, adapter.execution_free) {}

  /// Keeps the network's bytes until destruction: the adapter may read them where they are.
  runtime::Error load(const Network& network, const runtime::NamedDataMap* data);
  /// Inputs first, then outputs.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  struct Tensor {
    size_t padded_size = 0;                  ///< bytes that the network reads or writes; 0 if the adapter does not say
    std::shared_ptr<const MemoryUnit> unit;  ///< that contains the bound tensor; null for other memory
    const void* data = nullptr;
    size_t size = 0;
  };

  runtime::Error build(const Network& network);
  runtime::Error compile();
  runtime::Error read_sizes(const Network& network);
  runtime::Error bind(bool is_input, size_t index, const runtime::EValue& value);
  runtime::Error bind(bool is_input, size_t index, const void* data, size_t size,
                      std::shared_ptr<const MemoryUnit> unit);
  runtime::Error bind_weights();

  const Adapter& adapter_;
  const Settings settings_;
  std::shared_ptr<const SharedWeights> weights_;  ///< the network's last input; null if it has its own weights
  // Memory that is bound outlives the execution.
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  Owned<NeuronModel> model_;
  Owned<NeuronCompilation> compilation_;
  Owned<NeuronExecution> execution_;
};

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
