// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/steps/cells.cpp"
#include "backends/xnnpack/runtime/steps/cells.h"

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

/// As for_vectors, but an iteration computes two vectors if there are two more: each operation of a cell waits for the
/// one before it, and meanwhile a processor that starts operations in order, such as the Cortex-A55, starts those of
/// the other vector.
template <typename F>
HWY_INLINE void for_pairs(size_t count, const F& f) {
  const size_t lanes = hn::Lanes(Tag());
  const auto load = [](const float* from) HWY_ATTR { return load_vector(from); };
  const auto store = [](Vec x, float* to) HWY_ATTR { store_vector(x, to); };
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    f(i, load, store);
    f(i + lanes, load, store);
  }
  for_vectors(count - i, [&](size_t rest, const auto& load_rest, const auto& store_rest)
                             HWY_ATTR { f(i + rest, load_rest, store_rest); });
}

/// A vector of hidden units of an LSTM cell. Its conditions are constants, so that the operations of two vectors are
/// one block of code, in which the compiler can interleave them.
template <bool kIsAdded, bool kHasHidden>
struct LstmVector {
  const LstmCellRows& p;
  size_t start;  // of the row

  template <typename Load>
  HWY_INLINE Vec gate(size_t number, size_t i, const Load& load) const {
    const size_t at = 4 * start + number * p.width + i;
    const Vec sum = load(p.gates + at);
    return kIsAdded ? hn::Add(sum, load(p.added + at)) : sum;
  }

  template <typename Load, typename Store>
  HWY_INLINE void operator()(size_t i, const Load& load, const Store& store) const {
    const Vec kept = hn::Mul(vector::sigmoid_of(gate(1, i, load)), load(p.state + start + i));
    const Vec state = hn::MulAdd(vector::sigmoid_of(gate(0, i, load)), vector::tanh_of(gate(2, i, load)), kept);
    store(state, p.next_state + start + i);
    if constexpr (kHasHidden) {
      store(hn::Mul(vector::sigmoid_of(gate(3, i, load)), vector::tanh_of(state)), p.hidden + start + i);
    }
  }
};

template <bool kIsAdded, bool kHasHidden>
void lstm_rows(const LstmCellRows& p) {
  for (size_t row = 0; row < p.rows; ++row) {
    for_pairs(p.width, LstmVector<kIsAdded, kHasHidden>{p, row * p.width});
  }
}

void lstm_cell(const LstmCellRows& rows) {
  LstmCellRows p = rows;
  if (p.next_state == nullptr) {
    p.next_state = p.hidden;  // which is written after it
  }
  if (p.next_state == nullptr) {
    return;
  }
  if (p.hidden != nullptr) {
    (p.added != nullptr ? lstm_rows<true, true> : lstm_rows<false, true>)(p);
  } else {
    (p.added != nullptr ? lstm_rows<true, false> : lstm_rows<false, false>)(p);
  }
}

/// A vector of hidden units of a GRU cell.
struct GruVector {
  const GruCellRows& p;
  size_t start;

  template <typename Load, typename Store>
  HWY_INLINE void operator()(size_t i, const Load& load, const Store& store) const {
    const float* const of_hidden = p.hidden_gates + 3 * start + i;
    const float* const of_input = p.input_gates + 3 * start + i;
    const Vec reset = vector::sigmoid_of(hn::Add(load(of_hidden), load(of_input)));
    const Vec kept = vector::sigmoid_of(hn::Add(load(of_hidden + p.width), load(of_input + p.width)));
    const Vec candidate =
        vector::tanh_of(hn::MulAdd(reset, load(of_hidden + 2 * p.width), load(of_input + 2 * p.width)));
    const Vec hidden = load(p.hidden + start + i);
    store(hn::MulAdd(hn::Sub(hidden, candidate), kept, candidate), p.next_hidden + start + i);
  }
};

void gru_cell(const GruCellRows& p) {
  for (size_t row = 0; row < p.rows; ++row) {
    for_pairs(p.width, GruVector{p, row * p.width});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch {
namespace backends {
namespace xnnpack {

HWY_EXPORT(lstm_cell);
HWY_EXPORT(gru_cell);

void lstm_cell(const LstmCellRows& rows) {
  HWY_DYNAMIC_DISPATCH(lstm_cell)(rows);
}

void gru_cell(const GruCellRows& rows) {
  HWY_DYNAMIC_DISPATCH(gru_cell)(rows);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
