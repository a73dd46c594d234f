// SPDX-License-Identifier: BSD-3-Clause
// Steps that compute each row, or each element, by itself.
#pragma once

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A function of rows. Rows are shared out over the threads.
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
  /// The cost of a number of a row, in multiplications; unknown for most functions.
  double work_of_number_ = std::numeric_limits<double>::infinity();

 private:
  size_t rows_of_unit_ = 1;
};

/// Layer or rms norm over the last dimensions. Inputs: x, weight, bias where it has them.
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

/// Conversions between floats and the other dtypes of arguments. Bools are 0 and 1 as floats.
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

/// Rows of a table by their indices. Inputs: the table, whose first dimension is indexed, and the indices (int64).
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

/// A copy of a tensor with slices replaced at some indices of a dimension. Inputs: the tensor, the indices (int64), as
/// many slices.
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

/// a where the condition is not 0, else b, with broadcasting. Inputs: condition, a, b.
class WhereStep final : public RowStep {
 public:
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  Shape out_;
  /// Of each input in each dimension of the result.
  std::vector<size_t> strides_[3];
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
