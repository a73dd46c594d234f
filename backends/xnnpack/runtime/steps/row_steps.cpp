// SPDX-License-Identifier: BSD-3-Clause
#include "steps/row_steps.h"

#include <algorithm>
#include <cstring>

#include "steps/rows.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

/// The grain size: the fewest floats of a unit.
constexpr size_t kGrain = 4096;
/// Units for each thread. With more than one, fast threads can take over work of a slow one.
constexpr size_t kUnitsOfThread = 2;

const float* floats(const void* data) {
  return static_cast<const float*>(data);
}

/// The index `number`, which counts from the end if it is negative and `wraps`; `size` if it is out of range.
size_t index_of(int64_t number, size_t size, bool wraps) {
  if (number < 0 && wraps) {
    number += static_cast<int64_t>(size);
  }
  return number >= 0 && static_cast<uint64_t>(number) < size ? static_cast<size_t>(number) : size;
}

}  // namespace

Step::Plan RowStep::plan(const std::vector<Shape>& in, size_t threads) {
  measure(in);
  const size_t least = std::max<size_t>(kGrain / std::max<size_t>(width_, 1), 1);
  const size_t parts = threads == 1 ? 1 : threads * kUnitsOfThread;
  rows_of_unit_ = std::max(least, (rows_ + parts - 1) / parts);
  const double numbers = static_cast<double>(rows_) * static_cast<double>(width_);
  return {(rows_ + rows_of_unit_ - 1) / rows_of_unit_, 0, work_of_number_ * numbers};
}

void RowStep::run(const StepData& data, size_t unit, void*) {
  const size_t first = unit * rows_of_unit_;
  run_rows(data, first, std::min(rows_of_unit_, rows_ - first));
}

size_t NormStep::width_of(const Shape& shape) const {
  return element_count(Shape(shape.end() - static_cast<ptrdiff_t>(dims_), shape.end()));
}

OptionalShape NormStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 1u + has_weight_ + has_bias_ || dims_ == 0 || in[0].size() < dims_) {
    return {};
  }
  const size_t width = width_of(in[0]);
  for (size_t i = 1; i < in.size(); ++i) {
    if (element_count(in[i]) != width) {
      return {};
    }
  }
  return in[0];
}

void NormStep::measure(const std::vector<Shape>& in) {
  width_ = width_of(in[0]);
  rows_ = width_ == 0 ? 0 : element_count(in[0]) / width_;
}

void NormStep::run_rows(const StepData& data, size_t first, size_t count) {
  const float* in = floats(data.in[0]) + first * width_;
  float* out = static_cast<float*>(data.out) + first * width_;
  const float* weight = has_weight_ ? floats(data.in[1]) : nullptr;
  if (centers_) {
    layer_norm(in, out, count, width_, eps_, weight, has_bias_ ? floats(data.in[1 + has_weight_]) : nullptr);
  } else {
    rms_norm(in, out, count, width_, eps_, weight);
  }
}

void GeluTanhStep::run_rows(const StepData& data, size_t first, size_t count) {
  gelu_tanh(floats(data.in[0]) + first, static_cast<float*>(data.out) + first, count);
}

void ConvertStep::run_rows(const StepData& data, size_t first, size_t count) {
  auto* out = static_cast<float*>(data.out);
  const auto* in = floats(data.in[0]);
  const auto* bytes = static_cast<const uint8_t*>(data.in[0]);
  const auto* numbers = static_cast<const int64_t*>(data.in[0]);
  for (size_t i = first; i < first + count; ++i) {
    switch (kind_) {
      case Kind::FloatToBool:
        static_cast<uint8_t*>(data.out)[i] = in[i] != 0;
        break;
      case Kind::BoolToFloat:
        out[i] = bytes[i] != 0 ? 1.0f : 0.0f;
        break;
      case Kind::Int64ToFloat:
        out[i] = static_cast<float>(numbers[i]);
        break;
      case Kind::Int64ToTruth:
        out[i] = numbers[i] != 0 ? 1.0f : 0.0f;
        break;
      case Kind::FloatToTruth:
        out[i] = in[i] != 0 ? 1.0f : 0.0f;
        break;
    }
  }
}

OptionalShape EmbeddingStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 2 || in[0].empty()) {
    return {};
  }
  Shape out = in[1];
  out.insert(out.end(), in[0].begin() + 1, in[0].end());
  return out;
}

void EmbeddingStep::measure(const std::vector<Shape>& in) {
  table_rows_ = in[0][0];
  rows_ = element_count(in[1]);
  width_ = element_count(Shape(in[0].begin() + 1, in[0].end()));
}

void EmbeddingStep::run_rows(const StepData& data, size_t first, size_t count) {
  const auto* numbers = static_cast<const int64_t*>(data.in[1]);
  for (size_t i = first; i < first + count; ++i) {
    const size_t row = index_of(numbers[i], table_rows_, wraps_);
    float* out = static_cast<float*>(data.out) + i * width_;
    if (row == table_rows_) {
      fail("an index is not below the number of rows of its table");
      std::fill(out, out + width_, 0.0f);
    } else {
      std::memcpy(out, floats(data.in[0]) + row * width_, width_ * sizeof(float));
    }
  }
}

OptionalShape IndexPutStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 3 || dim_ >= in[0].size()) {
    return {};
  }
  Shape slices = in[0];
  slices[dim_] = element_count(in[1]);
  return element_count(slices) == element_count(in[2]) ? in[0] : OptionalShape();
}

void IndexPutStep::measure(const std::vector<Shape>& in) {
  const auto at = in[0].begin() + static_cast<ptrdiff_t>(dim_);
  rows_ = element_count(Shape(in[0].begin(), at));
  length_ = in[0][dim_];
  places_ = element_count(in[1]);
  inner_ = element_count(Shape(at + 1, in[0].end()));
  width_ = length_ * inner_;
}

void IndexPutStep::run_rows(const StepData& data, size_t first, size_t count) {
  const auto* numbers = static_cast<const int64_t*>(data.in[1]);
  auto* out = static_cast<float*>(data.out);
  if (data.out != data.in[0]) {
    std::memcpy(out + first * width_, floats(data.in[0]) + first * width_, count * width_ * sizeof(float));
  }
  for (size_t row = first; row < first + count; ++row) {
    for (size_t i = 0; i < places_; ++i) {
      const size_t place = index_of(numbers[i], length_, /*wraps=*/true);
      if (place == length_) {
        fail("an index is not below the size of its dimension");
        continue;
      }
      const float* from = floats(data.in[2]) + (row * places_ + i) * inner_;
      std::memcpy(out + row * width_ + place * inner_, from, inner_ * sizeof(float));
    }
  }
}

OptionalShape WhereStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 3) {
    return {};
  }
  const OptionalShape values = broadcast_shape(in[1], in[2]);
  return values ? broadcast_shape(in[0], *values) : OptionalShape();
}

void WhereStep::measure(const std::vector<Shape>& in) {
  out_ = *shape(in);
  width_ = out_.empty() ? 1 : out_.back();
  rows_ = width_ == 0 ? 0 : element_count(out_) / width_;
  for (size_t i = 0; i < in.size(); ++i) {
    strides_[i].assign(out_.size(), 0);
    size_t stride = 1;
    for (size_t d = in[i].size(); d-- > 0;) {
      strides_[i][out_.size() - in[i].size() + d] = in[i][d] == 1 ? 0 : stride;
      stride *= in[i][d];
    }
  }
}

void WhereStep::run_rows(const StepData& data, size_t first, size_t count) {
  for (size_t row = first; row < first + count; ++row) {
    size_t offsets[3] = {};
    size_t steps[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      size_t rest = row;
      for (size_t d = out_.size(); d-- > 1;) {
        offsets[i] += rest % out_[d - 1] * strides_[i][d - 1];
        rest /= out_[d - 1];
      }
      steps[i] = out_.empty() ? 0 : strides_[i].back();
    }
    const float* condition = floats(data.in[0]) + offsets[0];
    const float* a = floats(data.in[1]) + offsets[1];
    const float* b = floats(data.in[2]) + offsets[2];
    float* out = static_cast<float*>(data.out) + row * width_;
    for (size_t j = 0; j < width_; ++j) {
      out[j] = condition[j * steps[0]] != 0 ? a[j * steps[1]] : b[j * steps[2]];
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
