// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/alignment.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <executorch/extension/asr/runner/program_numbers.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

constexpr int64_t kMedianFilterWidth = 7;
constexpr size_t kWidestFilter = 4095;  // Whisper's encoder has 1500 positions

/// A matrix with one row for each token.
struct Matrix {
  size_t rows;
  size_t columns;
  std::vector<float> values = std::vector<float>(rows * columns);

  float& at(size_t row, size_t column) { return values[row * columns + column]; }
};

/// Subtracts the mean over the tokens from each position, and divides by the standard deviation unless it is 0.
void standardise(Matrix& matrix) {
  const auto count = static_cast<double>(matrix.rows);
  for (size_t column = 0; column < matrix.columns; column++) {
    double sum = 0;
    for (size_t row = 0; row < matrix.rows; row++) {
      sum += matrix.at(row, column);
    }
    const double mean = sum / count;
    double squares = 0;
    for (size_t row = 0; row < matrix.rows; row++) {
      const double distance = matrix.at(row, column) - mean;
      squares += distance * distance;
    }
    const double deviation = std::sqrt(squares / count);
    for (size_t row = 0; row < matrix.rows; row++) {
      const double distance = matrix.at(row, column) - mean;
      matrix.at(row, column) = static_cast<float>(deviation > 0 ? distance / deviation : 0);
    }
  }
}

/// Adds the median of each value and its neighbours in its row to `sums`. Rows are reflected at their ends.
void add_medians(Matrix& matrix, size_t width, Matrix& sums) {
  const auto half = static_cast<std::ptrdiff_t>(width / 2);
  const auto columns = static_cast<std::ptrdiff_t>(matrix.columns);
  if (columns <= half) {
    std::transform(matrix.values.begin(), matrix.values.end(), sums.values.begin(), sums.values.begin(),
                   std::plus<float>());
    return;
  }
  std::vector<float> window(width);
  for (size_t row = 0; row < matrix.rows; row++) {
    for (std::ptrdiff_t column = 0; column < columns; column++) {
      for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(width); i++) {
        const std::ptrdiff_t place = std::abs(column - half + i);
        const std::ptrdiff_t inside = place < columns ? place : 2 * (columns - 1) - place;
        window[static_cast<size_t>(i)] = matrix.at(row, static_cast<size_t>(inside));
      }
      std::nth_element(window.begin(), window.begin() + half, window.end());
      sums.at(row, static_cast<size_t>(column)) += window[static_cast<size_t>(half)];
    }
  }
}

enum class Step : uint8_t { kBoth, kToken, kPosition };

/// Returns for each row the first column of the path from the first to the last cell with the largest sum. Each step
/// goes to the next row, the next column, or both.
std::vector<int64_t> warp(Matrix& gains) {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  std::vector<Step> steps(gains.rows * gains.columns);
  std::vector<float> above(gains.columns + 1, kNever);  // the costs of the previous row; the first is outside
  above[0] = 0;
  for (size_t row = 0; row < gains.rows; row++) {
    std::vector<float> costs(gains.columns + 1, kNever);
    for (size_t column = 0; column < gains.columns; column++) {
      const float both = above[column];
      const float token = above[column + 1];
      const float position = costs[column];
      const Step step = both < token && both < position    ? Step::kBoth
                        : token < both && token < position ? Step::kToken
                                                           : Step::kPosition;
      const float before = step == Step::kBoth ? both : step == Step::kToken ? token : position;
      costs[column + 1] = before - gains.at(row, column);
      steps[row * gains.columns + column] = step;
    }
    above = std::move(costs);
  }
  std::vector<int64_t> found(gains.rows);
  size_t row = gains.rows - 1;
  for (size_t column = gains.columns - 1;;) {
    found[row] = static_cast<int64_t>(column);
    const Step step = steps[row * gains.columns + column];
    if (row == 0 && column == 0) {
      return found;
    }
    row -= row > 0 && step != Step::kPosition ? 1 : 0;
    column -= column > 0 && step != Step::kToken ? 1 : 0;
  }
}

}  // namespace

Result<std::vector<int64_t>> positions_of_tokens(const AttentionWeights& weights, size_t positions,
                                                 size_t filter_width) {
  ET_CHECK_OR_RETURN_ERROR(filter_width % 2 == 1 && filter_width <= kWidestFilter, InvalidProgram,
                           "method 'get_median_filter_width' returns %zu; expected an odd number up to %zu",
                           filter_width, kWidestFilter);
  const size_t columns = std::max<size_t>(1, std::min(positions, weights.positions));
  if (weights.tokens == 0) {
    return std::vector<int64_t>();
  }
  Matrix sums{weights.tokens, columns};
  Matrix matrix{weights.tokens, columns};
  for (size_t head = 0; head < weights.heads; head++) {
    for (size_t token = 0; token < weights.tokens; token++) {
      const float* const row = weights.data + (head * weights.tokens + token) * weights.positions;
      ET_CHECK_OR_RETURN_ERROR(
          std::all_of(row, row + columns, [](float weight) { return std::isfinite(weight); }), InvalidProgram,
          "method '%s' returns weights that are not finite, so no times of words can be found", kAlignment);
      std::copy_n(row, columns, &matrix.at(token, 0));
    }
    standardise(matrix);
    add_medians(matrix, filter_width, sums);
  }
  for (float& sum : sums.values) {
    sum /= static_cast<float>(weights.heads);
  }
  return warp(sums);
}

Error AlignmentQueries::add(const std::vector<EValue>& decoder_outputs, size_t tokens) {
  ET_CHECK_OR_RETURN_ERROR(decoder_outputs.size() > 1 && decoder_outputs[1].isTensor(), InvalidProgram,
                           "method 'text_decoder' returns %zu values; for times of words, the second one must have the "
                           "queries of alignment heads, float32 [heads, tokens, head_dim]",
                           decoder_outputs.size());
  const Tensor queries = decoder_outputs[1].toTensor();
  const bool is_first = heads_.empty();
  ET_CHECK_OR_RETURN_ERROR(
      queries.scalar_type() == ScalarType::Float && queries.dim() == 3 && queries.numel() > 0 &&
          (is_first || (static_cast<size_t>(queries.size(0)) == heads_.size() &&
                        static_cast<size_t>(queries.size(2)) == head_dim_)),
      InvalidProgram,
      "the second output of method 'text_decoder' is not float32 [heads, tokens, head_dim] in each call");
  const auto given = static_cast<size_t>(queries.size(1));
  ET_CHECK_OR_RETURN_ERROR(given == tokens, InvalidProgram,
                           "method 'text_decoder' returns queries of %zu tokens for a call with %zu tokens", given,
                           tokens);
  if (is_first) {
    heads_.resize(static_cast<size_t>(queries.size(0)));
    head_dim_ = static_cast<size_t>(queries.size(2));
  }
  const float* from = queries.const_data_ptr<float>();
  for (std::vector<float>& head : heads_) {
    head.insert(head.end(), from, from + tokens * head_dim_);
    from += tokens * head_dim_;
  }
  tokens_ += tokens;
  return Error::Ok;
}

Result<std::vector<int64_t>> AlignmentQueries::align(Module& module, size_t first, size_t count,
                                                     const std::vector<EValue>& encoded, size_t positions) const {
  if (count == 0) {
    return std::vector<int64_t>();
  }
  ET_CHECK_OR_RETURN_ERROR(first + count == tokens_, InvalidProgram,
                           "method 'text_decoder' has returned queries of %zu tokens; the times of %zu tokens after "
                           "the first %zu need as many as there are tokens",
                           tokens_, count, first);
  ET_ASSIGN_OR_RETURN(given_width, number(module, "get_median_filter_width", 1));
  std::vector<float> queries;
  queries.reserve(heads_.size() * count * head_dim_);
  for (const std::vector<float>& head : heads_) {
    queries.insert(queries.end(), head.begin() + static_cast<std::ptrdiff_t>(first * head_dim_), head.end());
  }
  const TensorPtr given = make_tensor_ptr(
      {static_cast<SizesType>(heads_.size()), static_cast<SizesType>(count), static_cast<SizesType>(head_dim_)},
      std::move(queries));
  std::vector<EValue> inputs{*given};
  inputs.insert(inputs.end(), encoded.begin(), encoded.end());
  ET_ASSIGN_OR_RETURN(outputs, module.execute(kAlignment, inputs));
  ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor(), InvalidProgram,
                           "the first output of method '%s' is not a tensor; expected weights", kAlignment);
  const Tensor weights = outputs.front().toTensor();
  ET_CHECK_OR_RETURN_ERROR(weights.scalar_type() == ScalarType::Float && weights.dim() == 3 &&
                               static_cast<size_t>(weights.size(0)) == heads_.size() &&
                               static_cast<size_t>(weights.size(1)) == count && weights.size(2) > 0,
                           InvalidProgram, "method '%s' does not return float32 [%zu heads, %zu tokens, positions]",
                           kAlignment, heads_.size(), count);
  return positions_of_tokens(
      {weights.const_data_ptr<float>(), heads_.size(), count, static_cast<size_t>(weights.size(2))}, positions,
      static_cast<size_t>(given_width.value_or(kMedianFilterWidth)));
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
