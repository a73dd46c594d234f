// SPDX-License-Identifier: BSD-3-Clause
// Steps that compute each row, or each element, independently.
#pragma once

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A step that computes rows independently of each other, so that threads share the rows.
class RowStep : public Step {
 public:
  Plan plan(const std::vector<Shape>& in, size_t threads) final;
  void run(const StepData& data, size_t unit, void* scratch) final;

 protected:
  /// Sets rows_ and width_.
  virtual void measure(const std::vector<Shape>& in) = 0;
  virtual void run_rows(const StepData& data, size_t first, size_t count) = 0;

  size_t rows_ = 0;
  size_t width_ = 1;
  /// The cost of an element in multiplications; infinity if it is unknown, as for most functions.
  double work_of_number_ = std::numeric_limits<double>::infinity();

 private:
  size_t rows_of_unit_ = 1;
};

/// Layer norm (if `centers`) or RMS norm over the last `dims` dimensions. Inputs: x, then weight and bias if there are
/// any.
class NormStep final : public RowStep {
 public:
  NormStep(bool centers, size_t dims, float eps, bool has_weight, bool has_bias)
      : centers_(centers), dims_(dims), eps_(eps), has_weight_(has_weight), has_bias_(has_bias) {}
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  size_t width_of(const Shape& shape) const;

  const bool centers_;
  const size_t dims_;
  const float eps_;
  const bool has_weight_;
  const bool has_bias_;
};

class GeluTanhStep final : public RowStep {
 public:
  OptionalShape shape(const std::vector<Shape>& in) const override { return in[0]; }

 protected:
  void measure(const std::vector<Shape>& in) override { rows_ = element_count(in[0]); }
  void run_rows(const StepData& data, size_t first, size_t count) override;
};

/// Converts between float32 and other dtypes of arguments. "Truth" is a bool as float32: 0 or 1.
class ConvertStep final : public RowStep {
 public:
  enum class Kind : uint32_t { FloatToBool = 0, BoolToFloat = 1, Int64ToFloat = 2, Int64ToTruth = 3, FloatToTruth = 4 };

  explicit ConvertStep(Kind kind) : kind_(kind) {}
  OptionalShape shape(const std::vector<Shape>& in) const override { return in[0]; }

 protected:
  void measure(const std::vector<Shape>& in) override { rows_ = element_count(in[0]); }
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  const Kind kind_;
};

/// Gathers rows of a table. Inputs: the table, whose first dimension is indexed, and the indices (int64).
class EmbeddingStep final : public RowStep {
 public:
  /// @param wraps Whether negative indices count from the end.
  explicit EmbeddingStep(bool wraps) : wraps_(wraps) {}
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  const bool wraps_;
  size_t table_rows_ = 0;
};

/// Copies a tensor and replaces its slices at some indices of a dimension. Inputs: the tensor, the indices (int64), and
/// a slice for each index.
class IndexPutStep final : public RowStep {
 public:
  explicit IndexPutStep(size_t dim) : dim_(dim) {}
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  const size_t dim_;
  size_t length_ = 0;
  size_t places_ = 0;
  size_t inner_ = 0;
};

/// Selects a if the condition is not 0, else b, with broadcasting. Inputs: condition, a, b.
class WhereStep final : public RowStep {
 public:
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  Shape out_;
  /// The strides of each input for each dimension of the output; 0 for dimensions that are broadcast.
  std::vector<size_t> strides_[3];
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
