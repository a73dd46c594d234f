// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/scalar.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_constructible_v<etensor::Scalar>);
static_assert(std::is_constructible_v<etensor::Scalar, bool>);
static_assert(std::is_constructible_v<etensor::Scalar, double>);
static_assert(std::is_constructible_v<etensor::Scalar, BFloat16>);
static_assert(std::is_constructible_v<etensor::Scalar, Half>);
static_assert(is<bool (etensor::Scalar::*)(bool) const>(&etensor::Scalar::isIntegral));
static_assert(is<bool (etensor::Scalar::*)() const>(&etensor::Scalar::isFloatingPoint));
static_assert(is<bool (etensor::Scalar::*)() const>(&etensor::Scalar::isBoolean));
static_assert(std::is_constructible_v<Scalar, int64_t> && std::is_constructible_v<Scalar, uint8_t>);
static_assert(is<int64_t (Scalar::*)() const>(&Scalar::to<int64_t>) &&
              is<double (Scalar::*)() const>(&Scalar::to<double>));
static_assert(is<bool (Scalar::*)() const>(&Scalar::to<bool>));

}  // namespace surface
