// SPDX-License-Identifier: BSD-3-Clause
// Prompts with pictures of any size, as a model's processor makes them.
#include <algorithm>
#include <cinttypes>
#include <iterator>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/image_preparation.h>
#include <executorch/extension/llm/runner/multimodal_prefiller.h>
#include <executorch/extension/llm/runner/util.h>

namespace executorch {
namespace extension {
namespace llm {

namespace {

using internal::ImagePreparation;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; !part.empty() && (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    count++;
  }
  return count;
}

/// Replaces the placeholders in the text as the model's processor in transformers does, and prepares the pictures.
Result<ImagePreparation::Prepared> with_pictures(const std::string& text, const std::vector<Image>& images,
                                                 const ImagePreparation& preparation) {
  const std::string& place = preparation.place();
  const size_t places = count_of(text, place);
  ET_CHECK_OR_RETURN_ERROR(places == 0 || places == images.size(), InvalidArgument,
                           "expected a picture for each place in the prompt, '%s': found %zu pictures and %zu places",
                           place.c_str(), images.size(), places);
  ImagePreparation::Prepared whole;
  size_t next = 0;
  for (const Image& image : images) {
    ET_ASSIGN_OR_RETURN(prepared, preparation.prepare(image));
    if (places > 0) {
      const size_t at = text.find(place, next);
      whole.text += text.substr(next, at - next);
      next = at + place.size();
    }
    whole.text += prepared.text;
    std::move(prepared.images.begin(), prepared.images.end(), std::back_inserter(whole.images));
  }
  whole.text += text.substr(next);
  return whole;
}

}  // namespace

Result<std::vector<MultimodalInput>> MultimodalPrefiller::prompt_of(const std::string& text,
                                                                    const std::vector<Image>& images, int32_t num_bos) {
  ET_CHECK_OR_RETURN_ERROR(num_bos >= 0 && num_bos <= INT8_MAX, InvalidArgument,
                           "num_bos is %" PRId32 "; expected a number from 0 to 127", num_bos);
  ET_ASSIGN_OR_RETURN(preparation, ImagePreparation::of(*module_));
  ET_CHECK_OR_RETURN_ERROR(preparation.has_value(), NotSupported,
                           "the program has no method '%s': give pictures of the size that it takes as inputs",
                           kImageProcessor);
  ET_ASSIGN_OR_RETURN(whole, with_pictures(text, images, *preparation));
  const auto token = tokenizer_->piece_to_id(preparation->token());
  ET_CHECK_OR_RETURN_ERROR(token.ok(), InvalidProgram, "the tokenizer has no token '%s', which stands for a picture",
                           preparation->token().c_str());
  const auto tokens = ET_UNWRAP_TOKENIZER(tokenizer_->encode(whole.text, static_cast<int8_t>(num_bos), 0));
  const auto found = static_cast<size_t>(std::count(tokens.begin(), tokens.end(), *token));
  ET_CHECK_OR_RETURN_ERROR(found == whole.images.size(), InvalidArgument,
                           "the text '%s' stands for a position of a picture: leave it out of the prompt",
                           preparation->token().c_str());
  std::vector<MultimodalInput> inputs;
  auto picture = whole.images.begin();
  for (auto begin = tokens.begin(); begin != tokens.end();) {
    const auto end = std::find(begin, tokens.end(), *token);
    if (end != begin) {
      inputs.push_back(make_token_input(std::vector<uint64_t>(begin, end)));
    }
    begin = end;
    if (begin != tokens.end()) {
      inputs.push_back(make_image_input(std::move(*picture++)));
      ++begin;
    }
  }
  return inputs;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
