// SPDX-License-Identifier: BSD-3-Clause
// Pictures, sound and saved conversations of language models.
#include <executorch/extension/c_api/llm.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/llm_state.h>
#include <executorch/extension/c_api/threads.h>

#ifdef ET_C_API_LLM
#include <cinttypes>
#include <cstring>
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
using executorch::runtime::Result;

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

/// Returns the product of three sizes. InvalidArgument unless they are positive and the product fits int32.
Result<size_t> count_of(const int32_t (&sizes)[3]) {
  const auto [first, second, third] = sizes;
  const bool positive = first > 0 && second > 0 && third > 0;
  ET_CHECK_OR_RETURN_ERROR(
      positive && int64_t{first} * second <= INT32_MAX && int64_t{first} * second * third <= INT32_MAX, InvalidArgument,
      "sizes of %" PRId32 " x %" PRId32 " x %" PRId32 "; expected positive ones", first, second, third);
  return static_cast<size_t>(first) * static_cast<size_t>(second) * static_cast<size_t>(third);
}

/// Makes a `Media` object from the elements of a part.
template <typename Media, typename Number>
Result<MultimodalInput> media_of(const et_llm_input& input) {
  ET_ASSIGN_OR_RETURN(count, count_of(input.sizes));
  ET_CHECK_OR_RETURN_ERROR(input.size == count * sizeof(Number), InvalidArgument,
                           "sizes of %" PRId32 " x %" PRId32 " x %" PRId32 " need %zu bytes, found %zu", input.sizes[0],
                           input.sizes[1], input.sizes[2], count * sizeof(Number), input.size);
  std::vector<Number> numbers(count);
  std::memcpy(numbers.data(), input.data, input.size);
  return MultimodalInput(Media(std::move(numbers), input.sizes[0], input.sizes[1], input.sizes[2]));
}

Result<MultimodalInput> raw_audio_of(const et_llm_input& input) {
  const auto* const bytes = static_cast<const uint8_t*>(input.data);
  RawAudio audio;
  audio.data.assign(bytes, bytes + input.size);
  audio.batch_size = input.sizes[0];
  audio.n_channels = input.sizes[1];
  audio.n_samples = input.sizes[2];
  ET_CHECK_OK_OR_RETURN_ERROR(audio.samples().error());  // checked before the program's support of sound
  return MultimodalInput(std::move(audio));
}

Result<MultimodalInput> input_of(const et_llm_input& input) {
  ET_CHECK_NOT_NULL(input.data);
  switch (input.type) {
    case ET_LLM_INPUT_TEXT:
      return MultimodalInput(std::string(static_cast<const char*>(input.data), input.size));
    case ET_LLM_INPUT_IMAGE:
      return media_of<Image, uint8_t>(input);
    case ET_LLM_INPUT_NORMALIZED_IMAGE:
      return media_of<Image, float>(input);
    case ET_LLM_INPUT_AUDIO_BYTES:
      return media_of<Audio, uint8_t>(input);
    case ET_LLM_INPUT_AUDIO:
      return media_of<Audio, float>(input);
    case ET_LLM_INPUT_RAW_AUDIO:
      return raw_audio_of(input);
    default:
      ET_LOG(Error, "expected a type of input from 0 (text) to 5 (raw audio), found %" PRId32, input.type);
      return Error::InvalidArgument;
  }
}

Result<std::vector<MultimodalInput>> inputs_of(const et_llm_input* inputs, size_t count) {
  ET_CHECK_OR_RETURN_ERROR(inputs != nullptr && count > 0, InvalidArgument,
                           "expected the parts of a prompt, found none");
  std::vector<MultimodalInput> parts;
  for (size_t i = 0; i < count; ++i) {
    ET_ASSIGN_OR_RETURN(part, input_of(inputs[i]));
    parts.push_back(std::move(part));
  }
  return parts;
}

Error prefill(et_llm* llm, const et_llm_input* inputs, size_t count) {
  ET_ASSIGN_OR_RETURN(parts, inputs_of(inputs, count));
  return alone(llm, [&](auto& runner) { return runner.prefill(parts).error(); });
}

template <typename Number>
Error prefill_numbers(et_llm* llm, et_llm_input_type type, const Number* numbers, int32_t first, int32_t second,
                      int32_t third) {
  et_llm_input input = {type, {first, second, third}, numbers, 0};
  ET_ASSIGN_OR_RETURN(count, count_of(input.sizes));
  input.size = count * sizeof(Number);
  return prefill(llm, &input, 1);
}

}  // namespace

#endif

et_status et_llm_prefill_image([[maybe_unused]] et_llm* llm, [[maybe_unused]] const uint8_t* pixels,
                               [[maybe_unused]] int32_t width, [[maybe_unused]] int32_t height,
                               [[maybe_unused]] int32_t channels, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM(return prefill_numbers(llm, ET_LLM_INPUT_IMAGE, pixels, width, height, channels);)
  });
}

et_status et_llm_prefill_normalized_image([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* pixels,
                                          [[maybe_unused]] int32_t width, [[maybe_unused]] int32_t height,
                                          [[maybe_unused]] int32_t channels, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM(return prefill_numbers(llm, ET_LLM_INPUT_NORMALIZED_IMAGE, pixels, width, height, channels);)
  });
}

et_status et_llm_prefill_audio([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* features,
                               [[maybe_unused]] int32_t batch, [[maybe_unused]] int32_t bins,
                               [[maybe_unused]] int32_t frames, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM(return prefill_numbers(llm, ET_LLM_INPUT_AUDIO, features, batch, bins, frames);)
  });
}

et_status et_llm_prefill_samples([[maybe_unused]] et_llm* llm, [[maybe_unused]] const float* samples,
                                 [[maybe_unused]] int32_t count, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM(return prefill_numbers(llm, ET_LLM_INPUT_RAW_AUDIO, samples, 1, 1, count);)
  });
}

et_status et_llm_prefill_inputs([[maybe_unused]] et_llm* llm, [[maybe_unused]] const et_llm_input* inputs,
                                [[maybe_unused]] size_t count, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return prefill(llm, inputs, count);) });
}

et_status et_llm_generate_inputs([[maybe_unused]] et_llm* llm, [[maybe_unused]] const et_llm_input* inputs,
                                 [[maybe_unused]] size_t count, [[maybe_unused]] const et_llm_config* config,
                                 [[maybe_unused]] et_llm_text text, [[maybe_unused]] void* context, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_ASSIGN_OR_RETURN(parts, inputs_of(inputs, count));
      return executorch::extension::c_api::generate(*llm, parts, config, text, context);
    })
  });
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
