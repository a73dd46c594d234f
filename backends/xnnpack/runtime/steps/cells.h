// SPDX-License-Identifier: BSD-3-Clause
// Recurrent cells on rows of floats, for the best instruction set of the machine.
#pragma once

#include <cstddef>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Rows of an LSTM cell with `width` hidden units. A row of gates has 4 * width numbers: i, then f, g and o.
/// state' = sigmoid(f) state + sigmoid(i) tanh(g), hidden = sigmoid(o) tanh(state').
struct LstmCellRows {
  size_t rows = 0;
  size_t width = 0;
  const float* gates = nullptr;
  const float* added = nullptr;  ///< more gates, which are added to these; may be null
  const float* state = nullptr;
  float* hidden = nullptr;      ///< may be null
  float* next_state = nullptr;  ///< may be null
};

void lstm_cell(const LstmCellRows& rows);

/// Rows of a GRU cell with `width` hidden units. A row of gates has 3 * width numbers: r, then z and n. Those of the
/// hidden state have the index h, those of the input x: r = sigmoid(r_h + r_x), z = sigmoid(z_h + z_x),
/// n = tanh(n_x + r n_h), next = (hidden - n) z + n.
struct GruCellRows {
  size_t rows = 0;
  size_t width = 0;
  const float* hidden_gates = nullptr;
  const float* input_gates = nullptr;
  const float* hidden = nullptr;
  float* next_hidden = nullptr;
};

void gru_cell(const GruCellRows& rows);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
