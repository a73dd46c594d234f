// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// What may follow `tokens`: the tokens that followed the last three of them, or the last two, where these occurred
/// before, at the latest such place. There are `most` of them, or those before a picture or sound: at the end of
/// `tokens` they begin again. None if the last tokens did not occur before.
std::vector<uint64_t> look_up(const std::vector<uint64_t>& tokens, size_t most);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
