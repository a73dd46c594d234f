// SPDX-License-Identifier: BSD-3-Clause
// Pictures, sound and saved conversations of language models.
#include <executorch/extension/c_api/llm.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/llm_state.h>
#include <executorch/extension/c_api/threads.h>

#ifdef ET_C_API_LLM
#include <cinttypes>
#include <string>
#include <utility>
#include <vector>
#endif

using executorch::extension::c_api::call;
using executorch::runtime::Error;

#ifdef ET_C_API_LLM

using executorch::extension::c_api::Claim;
using executorch::extension::llm::Audio;
using executorch::extension::llm::Image;
using executorch::extension::llm::MultimodalInput;
using executorch::extension::llm::RawAudio;

namespace {

/// Runs `work` while no other call uses the runner.
template <typename Work>
Error alone(et_llm* llm, Work&& work) {
  ET_CHECK_NOT_NULL(llm);
  const Claim claim(*llm);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  const executorch::extension::c_api::ThreadsInUse threads;
  return work(*llm->runner);
}

/// The numbers of an array of three sizes, and `Media` of them.
template <typename Media, typename Number>
Error prefill(et_llm* llm, const Number* numbers, int32_t first, int32_t second, int32_t third) {
  ET_CHECK_NOT_NULL(numbers);
  const bool positive = first > 0 && second > 0 && third > 0;
  ET_CHECK_OR_RETURN_ERROR(
      positive && int64_t{first} * second <= INT32_MAX && int64_t{first} * second * third <= INT32_MAX, InvalidArgument,
      "sizes of %" PRId32 " x %" PRId32 " x %" PRId32 "; expected positive ones", first, second, third);
  const size_t count = static_cast<size_t>(first) * static_cast<size_t>(second) * static_cast<size_t>(third);
  MultimodalInput input(Media(std::vector<Number>(numbers, numbers + count), first, second, third));
  return alone(llm, [&](auto& runner) { return runner.prefill({std::move(input)}).error(); });
}

Error prefill_samples(et_llm* llm, const float* samples, int32_t count) {
  ET_CHECK_NOT_NULL(samples);
  ET_CHECK_OR_RETURN_ERROR(count > 0, InvalidArgument, "%" PRId32 " samples; expected a positive number", count);
  RawAudio audio;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(samples);
  audio.data.assign(bytes, bytes + static_cast<size_t>(count) * sizeof(float));
  audio.batch_size = 1;
  audio.n_channels = 1;
  audio.n_samples = count;
  return alone(llm, [&](auto& runner) { return runner.prefill({MultimodalInput(std::move(audio))}).error(); });
}

}  // namespace

#endif

et_status et_llm_prefill_image([[maybe_unused]] et_llm* llm, [[maybe_unused]] const uint8_t* pixels,
                               [[maybe_unused]] int32_t width, [[maybe_unused]] int32_t height,
                               [[maybe_unused]] int32_t channels, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return prefill<Image>(llm, pixels, width, height, channels);) });
}

et_status et_llm_prefill_normalized_image([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* pixels,
                                          [[maybe_unused]] int32_t width, [[maybe_unused]] int32_t height,
                                          [[maybe_unused]] int32_t channels, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return prefill<Image>(llm, pixels, width, height, channels);) });
}

et_status et_llm_prefill_audio([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* features,
                               [[maybe_unused]] int32_t batch, [[maybe_unused]] int32_t bins,
                               [[maybe_unused]] int32_t frames, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return prefill<Audio>(llm, features, batch, bins, frames);) });
}

et_status et_llm_prefill_samples([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* samples,
                                 [[maybe_unused]] int32_t count, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return prefill_samples(llm, samples, count);) });
}

et_status et_llm_save_session([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* path, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(path);
      return alone(llm, [&](auto& runner) { return runner.save_session(path); });
    })
  });
}

et_status et_llm_load_session([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* path, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(path);
      return alone(llm, [&](auto& runner) { return runner.load_session(path); });
    })
  });
}
