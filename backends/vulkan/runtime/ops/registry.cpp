// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <map>

#include "graph/op_context.h"
#include "graph/shaders.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

std::vector<Operators> operator_tables() {
  return {elementwise_operators(),
          copy_operators(),
          join_operators(),
          create_operators(),
          reduce_operators(),
          norm_operators(),
          matmul_operators(),
          convolution_operators(),
          window_operators(),
          index_operators(),
          symbolic_operators(),
          quantize_operators(),
          quantized_linear_operators(),
          attention_operators(),
          quantized_convolution_operators()};
}

const Operator* find_operator(std::string_view name) {
  static const std::map<std::string_view, const Operator*> all = [] {
    std::map<std::string_view, const Operator*> found;
    for (const Operators& table : operator_tables()) {
      for (const Operator& op : table) {
        found[op.name] = &op;
      }
    }
    return found;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

const gpu::Shader* find_shader(std::string_view name) {
  const auto* end = kShaders + kShaderCount;
  const auto* found = std::lower_bound(
      kShaders, end, name, [](const gpu::Shader& shader, std::string_view text) { return shader.name < text; });
  return found != end && found->name == name ? found : nullptr;
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
