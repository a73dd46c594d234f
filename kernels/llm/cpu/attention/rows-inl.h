// SPDX-License-Identifier: BSD-3-Clause
// Rows of any type as floats. Included once for each instruction set.
#include <algorithm>

#include "hwy/highway.h"
#include "kernels/llm/cpu/attention/attention.h"
#include "kernels/simd/map-inl.h"

#if defined(ET_LLM_ATTENTION_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_LLM_ATTENTION_ROWS_INL_H
#undef ET_LLM_ATTENTION_ROWS_INL_H
#else
#define ET_LLM_ATTENTION_ROWS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

/// out[i] = convert(vector of in[i]) for i < count.
template <typename T, typename Convert>
HWY_INLINE void convert_row(const T* in, int64_t count, float* out, const Convert& convert) {
  const FloatTag d;
  const hn::Rebind<T, FloatTag> dt;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(convert(hn::LoadU(dt, in + i)), d, out + i);
  }
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    hn::StoreN(convert(hn::LoadN(dt, in + i, rest)), d, out + i, rest);
  }
}

struct FromHalf {
  template <typename V>
  HWY_INLINE FloatVec operator()(V bits) const {
    return hn::PromoteTo(FloatTag(), hn::BitCast(hn::Rebind<hwy::float16_t, FloatTag>(), bits));
  }
};

struct FromBFloat16 {
  template <typename V>
  HWY_INLINE FloatVec operator()(V bits) const {
    const hn::Rebind<uint32_t, FloatTag> du;
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  }
};

struct FromInt8 {
  FloatVec zero_point;
  FloatVec scale;

  template <typename V>
  HWY_INLINE FloatVec operator()(V values) const {
    const hn::Rebind<int32_t, FloatTag> di;
    const FloatVec floats = hn::ConvertTo(FloatTag(), hn::PromoteTo(di, values));
    return hn::Mul(hn::Sub(floats, zero_point), scale);
  }
};

/// Row `row` of a head, as floats.
HWY_INLINE void load_row(const HeadRows& rows, int64_t batch, int64_t head, int64_t row, int64_t width, float* out) {
  const int64_t start = batch * rows.batch_stride + head * rows.head_stride + row * rows.row_stride;
  switch (rows.type) {
    case RowType::Float:
      std::copy_n(static_cast<const float*>(rows.data) + start, width, out);
      break;
    case RowType::Half:
      convert_row(static_cast<const uint16_t*>(rows.data) + start, width, out, FromHalf());
      break;
    case RowType::BFloat16:
      convert_row(static_cast<const uint16_t*>(rows.data) + start, width, out, FromBFloat16());
      break;
    case RowType::Int8: {
      const int64_t at =
          batch * rows.parameter_batch_stride + head * rows.parameter_head_stride + row * rows.parameter_row_stride;
      const FloatTag d;
      const FromInt8 convert{hn::Set(d, static_cast<float>(rows.zero_points[at])), hn::Set(d, rows.scales[at])};
      convert_row(static_cast<const int8_t*>(rows.data) + start, width, out, convert);
      break;
    }
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
