// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/multimodal_prefiller.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/image_preparation.h>
#include <executorch/extension/llm/runner/picture_patches.h>
#include <executorch/extension/llm/runner/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::EValue;

namespace {

using Sizes = std::vector<SizesType>;

constexpr const char* kMethods[] = {kVisionPreprocessorMethod, kVisionEncoderMethod, kAudioPreprocessorMethod,
                                    kAudioEncoderMethod, kPictureDecoderMethod};

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const SizesType size : sizes) {
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  }
  return text;
}

struct InputMeta {
  ScalarType type;
  Sizes sizes;  // the upper bounds
};

Result<InputMeta> first_input(Module& module, const std::string& method) {
  ET_ASSIGN_OR_RETURN(meta, module.method_meta(method));
  ET_ASSIGN_OR_RETURN(tensor, meta.input_tensor_meta(0));
  return InputMeta{tensor.scalar_type(), Sizes(tensor.sizes().begin(), tensor.sizes().end())};
}

Sizes sizes_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

/// `tensor` in the dtype that the method takes. Floats are rounded; integers are not converted to floats or back,
/// because their ranges differ.
Result<TensorPtr> in_dtype_of(const TensorPtr& tensor, const InputMeta& expected, const std::string& method) {
  const ScalarType type = tensor->scalar_type();
  if (type == expected.type) {
    return tensor;
  }
  ET_CHECK_OR_RETURN_ERROR(
      type == ScalarType::Float && (expected.type == ScalarType::Half || expected.type == ScalarType::BFloat16),
      InvalidArgument, "the input holds %s, but method '%s' takes %s: prepare it as the model's processor does",
      runtime::toString(type), method.c_str(), runtime::toString(expected.type));
  return clone_tensor_ptr(tensor, expected.type);
}

/// InvalidArgument unless the method can take `found`.
Error check_sizes(const Sizes& found, const InputMeta& expected, const std::string& method) {
  bool fits = found.size() == expected.sizes.size();
  for (size_t i = 0; fits && i < found.size(); i++) {
    fits = found[i] <= expected.sizes[i];
  }
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument, "the input has the sizes %s, but method '%s' takes %s",
                           text_of(found).c_str(), method.c_str(), text_of(expected.sizes).c_str());
  return Error::Ok;
}

/// A copy of a method's first output as rows: [1, positions, dim].
Result<TensorPtr> rows_of(const std::vector<EValue>& outputs, const std::string& method) {
  const bool has_rows = !outputs.empty() && outputs.front().isTensor() && outputs.front().toTensor().dim() >= 2 &&
                        outputs.front().toTensor().numel() > 0;
  ET_CHECK_OR_RETURN_ERROR(has_rows, InvalidProgram,
                           "the first output of method '%s' is not a tensor of embeddings, [positions, dim]",
                           method.c_str());
  const auto tensor = outputs.front().toTensor();
  const auto dim = static_cast<SizesType>(tensor.size(tensor.dim() - 1));
  const auto rows = static_cast<SizesType>(static_cast<int64_t>(tensor.numel()) / dim);
  return clone_tensor_ptr(*make_tensor_ptr(tensor, {1, rows, dim}));
}

/// Tensors [1, positions, dim] one after another. `method` made them.
Result<TensorPtr> joined(const std::vector<TensorPtr>& parts, const std::string& method) {
  ET_CHECK_OR_RETURN_ERROR(!parts.empty(), InvalidProgram, "method '%s' got no input, so there are no embeddings",
                           method.c_str());
  if (parts.size() == 1) {
    return parts.front();
  }
  std::vector<uint8_t> bytes;
  SizesType rows = 0;
  for (const TensorPtr& part : parts) {
    ET_CHECK_OR_RETURN_ERROR(
        part->size(2) == parts.front()->size(2) && part->scalar_type() == parts.front()->scalar_type(), InvalidProgram,
        "method '%s' gives embeddings of %d numbers (%s) and then of %d (%s)", method.c_str(),
        static_cast<int>(parts.front()->size(2)), runtime::toString(parts.front()->scalar_type()),
        static_cast<int>(part->size(2)), runtime::toString(part->scalar_type()));
    const auto* const data = static_cast<const uint8_t*>(part->const_data_ptr());
    bytes.insert(bytes.end(), data, data + part->nbytes());
    rows += static_cast<SizesType>(part->size(1));
  }
  return make_tensor_ptr({1, rows, static_cast<SizesType>(parts.front()->size(2))}, std::move(bytes),
                         parts.front()->scalar_type());
}

/// The `count` rows from `first` on along the dimension `dim` of a tensor. The dimensions before it have size 1.
TensorPtr part_of(const TensorPtr& tensor, size_t dim, int64_t first, int64_t count) {
  Sizes sizes = sizes_of(*tensor);
  const size_t row = tensor->nbytes() / static_cast<size_t>(sizes[dim]);
  sizes[dim] = static_cast<SizesType>(count);
  auto* const data = static_cast<uint8_t*>(tensor->mutable_data_ptr()) + row * static_cast<size_t>(first);
  return from_blob(data, std::move(sizes), tensor->scalar_type());
}

}  // namespace

MultimodalPrefiller::MultimodalPrefiller(Module* module, MultimodalDecoderRunner* decoder_runner, Tokenizer* tokenizer,
                                         IOManager* io_manager)
    : module_(module), decoder_runner_(decoder_runner), tokenizer_(tokenizer) {
  (void)io_manager;  // decoder_runner uses it
}

Result<bool> MultimodalPrefiller::has_method(const std::string& name) const {
  ET_ASSIGN_OR_RETURN(methods, module_->method_names());
  return methods.count(name) > 0;
}

Error MultimodalPrefiller::load() {
  for (const char* const name : kMethods) {
    ET_ASSIGN_OR_RETURN(found, has_method(name));
    if (found) {
      ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(name));
    }
  }
  return decoder_runner_->load();
}

bool MultimodalPrefiller::is_method_loaded() {
  for (const char* const name : kMethods) {
    const auto found = has_method(name);
    if (!found.ok() || (*found && !module_->is_method_loaded(name))) {
      return false;
    }
  }
  return decoder_runner_->is_method_loaded();
}

Result<MultimodalPrefiller::Encoded> MultimodalPrefiller::encode(const MultimodalInput& input) {
  if (const Image* const image = input.try_get_image()) {
    ET_ASSIGN_OR_RETURN(found, has_method(kVisionEncoderMethod));
    ET_CHECK_OR_RETURN_ERROR(found, NotSupported, "the program has no method '%s', so it takes no pictures",
                             kVisionEncoderMethod);
    ET_ASSIGN_OR_RETURN(meta, module_->method_meta(kVisionEncoderMethod));
    if (meta.num_inputs() == 2) {
      return encode_patches(*image);
    }
    ET_ASSIGN_OR_RETURN(embeddings, encode_image(*image));
    return Encoded{embeddings, true};
  }
  const auto encoded = [&]() -> Result<TensorPtr> {
    if (const Audio* const audio = input.try_get_audio()) {
      return encode_audio(*audio);
    }
    if (const RawAudio* const audio = input.try_get_raw_audio()) {
      return encode_raw_audio(*audio);
    }
    return embed_tokens(input, 0, 0);
  };
  ET_ASSIGN_OR_RETURN(embeddings, encoded());
  return Encoded{embeddings};
}

Result<TensorPtr> MultimodalPrefiller::encode_image(const Image& image) {
  const std::string method = kVisionEncoderMethod;
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  ET_ASSIGN_OR_RETURN(prepared, has_method(kVisionPreprocessorMethod));
  TensorPtr pixels;
  if (image.is_uint8() && expected.type != ScalarType::Byte && prepared) {
    ET_ASSIGN_OR_RETURN(result, run_on(image, kVisionPreprocessorMethod));
    ET_CHECK_OR_RETURN_ERROR(!result.empty() && result.front().isTensor(), InvalidProgram,
                             "the first output of method '%s' is not a tensor", kVisionPreprocessorMethod);
    pixels = make_tensor_ptr(result.front().toTensor());
  } else {
    ET_ASSIGN_OR_RETURN(given, image.toTensor(expected.sizes.size() == 4));
    pixels = given;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*pixels), expected, method));
  ET_ASSIGN_OR_RETURN(converted, in_dtype_of(pixels, expected, method));
  ET_ASSIGN_OR_RETURN(outputs, decoder_runner_->run(method, {*converted}));
  return rows_of(outputs, method);
}

Result<MultimodalPrefiller::Encoded> MultimodalPrefiller::encode_patches(const Image& image) {
  const std::string method = kVisionEncoderMethod;
  ET_ASSIGN_OR_RETURN(preparation, internal::ImagePreparation::of(*module_));
  ET_CHECK_OR_RETURN_ERROR(preparation && preparation->patch() > 0, InvalidProgram,
                           "method '%s' takes patches; expected a method '%s' that describes them", method.c_str(),
                           kImageProcessor);
  // A picture that the processor has prepared must not be prepared again.
  const bool is_raw = image.is_uint8() && !image.is_prepared();
  ET_ASSIGN_OR_RETURN(scaled, is_raw ? preparation->whole(image) : Result<Image>(image));
  ET_ASSIGN_OR_RETURN(cut, internal::patches_of(scaled, preparation->patch(), preparation->merge()));
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  ET_ASSIGN_OR_RETURN(prepared, has_method(kVisionPreprocessorMethod));
  TensorPtr patches = cut.patches;
  ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*patches), expected, method));
  if (scaled.is_uint8() && expected.type != ScalarType::Byte && prepared) {
    ET_ASSIGN_OR_RETURN(outputs, decoder_runner_->run(kVisionPreprocessorMethod, {*patches}));
    ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor(), InvalidProgram,
                             "the first output of method '%s' is not a tensor", kVisionPreprocessorMethod);
    patches = make_tensor_ptr(outputs.front().toTensor());
    ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*patches), expected, method));
  }
  ET_ASSIGN_OR_RETURN(converted, in_dtype_of(patches, expected, method));
  const TensorPtr grid = make_tensor_ptr({2}, std::vector<int64_t>{cut.rows, cut.columns});
  ET_ASSIGN_OR_RETURN(outputs, decoder_runner_->run(method, {*converted, *grid}));
  ET_ASSIGN_OR_RETURN(rows, rows_of(outputs, method));
  ET_CHECK_OR_RETURN_ERROR(rows->size(1) == int64_t{cut.rows} * cut.columns, InvalidProgram,
                           "method '%s' gives %d positions for %d x %d units of patches", method.c_str(),
                           static_cast<int>(rows->size(1)), cut.rows, cut.columns);
  return Encoded{rows, true, cut.rows, cut.columns};
}

/// The picture at the size that a method takes; null if it has that size, or the program does not say how to scale it.
Result<std::optional<Image>> MultimodalPrefiller::fitted(const Image& image, const std::string& method) {
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  const size_t dims = expected.sizes.size();
  if (dims < 3 || !image.is_uint8() ||
      (expected.sizes[dims - 1] == image.width() && expected.sizes[dims - 2] == image.height())) {
    return std::optional<Image>();
  }
  ET_ASSIGN_OR_RETURN(preparation, internal::ImagePreparation::of(*module_));
  if (!preparation) {
    return std::optional<Image>();
  }
  ET_ASSIGN_OR_RETURN(scaled, preparation->whole(image));
  return std::optional<Image>(std::move(scaled));
}

Result<std::vector<EValue>> MultimodalPrefiller::run_on(const Image& image, const std::string& method) {
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  ET_ASSIGN_OR_RETURN(scaled, fitted(image, method));
  ET_ASSIGN_OR_RETURN(picture, (scaled ? *scaled : image).toTensor(expected.sizes.size() == 4));
  ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*picture), expected, method));
  return decoder_runner_->run(method, {*picture});
}

Result<TensorPtr> MultimodalPrefiller::encode_audio(const Audio& audio) {
  ET_ASSIGN_OR_RETURN(features, audio.toTensor());
  return encode_features(features);
}

Result<TensorPtr> MultimodalPrefiller::encode_features(const TensorPtr& features) {
  const std::string method = kAudioEncoderMethod;
  ET_ASSIGN_OR_RETURN(found, has_method(method));
  ET_CHECK_OR_RETURN_ERROR(found, NotSupported, "the program has no method '%s', so it takes no sound", method.c_str());
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  ET_ASSIGN_OR_RETURN(converted, in_dtype_of(features, expected, method));
  const auto count = static_cast<int64_t>(converted->size(0));
  const int64_t most = expected.sizes.size() == 3 ? std::max<int64_t>(expected.sizes[0], 1) : count;
  std::vector<TensorPtr> parts;
  for (int64_t first = 0; first < count; first += most) {
    const TensorPtr part = part_of(converted, 0, first, std::min(most, count - first));
    ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*part), expected, method));
    ET_ASSIGN_OR_RETURN(outputs, decoder_runner_->run(method, {*part}));
    ET_ASSIGN_OR_RETURN(rows, rows_of(outputs, method));
    parts.push_back(rows);
  }
  return joined(parts, method);
}

Result<TensorPtr> MultimodalPrefiller::encode_raw_audio(const RawAudio& audio) {
  const std::string method = kAudioPreprocessorMethod;
  ET_ASSIGN_OR_RETURN(found, has_method(method));
  ET_CHECK_OR_RETURN_ERROR(found, NotSupported,
                           "the program has no method '%s': pass the features of the sound as Audio, or export the "
                           "program with a front end, which computes them",
                           method.c_str());
  ET_ASSIGN_OR_RETURN(samples, audio.samples());
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  std::vector<TensorPtr> parts;
  for (int32_t i = 0; i < audio.batch_size; i++) {
    const TensorPtr one = from_blob(samples.data() + static_cast<size_t>(i) * static_cast<size_t>(audio.n_samples),
                                    {audio.n_samples}, ScalarType::Float);
    ET_CHECK_OK_OR_RETURN_ERROR(check_sizes(sizes_of(*one), expected, method));
    ET_ASSIGN_OR_RETURN(outputs, decoder_runner_->run(method, {*one}));
    ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor() && outputs.front().toTensor().dim() == 3,
                             InvalidProgram, "the first output of method '%s' is not a tensor [batch, bins, frames]",
                             method.c_str());
    ET_ASSIGN_OR_RETURN(rows, encode_features(make_tensor_ptr(outputs.front().toTensor())));
    parts.push_back(rows);
  }
  return joined(parts, kAudioEncoderMethod);
}

Result<TensorPtr> MultimodalPrefiller::embed_tokens(const MultimodalInput& input, int32_t bos, int32_t eos) {
  std::vector<uint64_t> ids;
  if (const std::string* const text = input.try_get_text()) {
    ids = ET_UNWRAP_TOKENIZER(tokenizer_->encode(*text, static_cast<int8_t>(bos), static_cast<int8_t>(eos)));
  } else if (const std::vector<uint64_t>* const tokens = input.try_get_tokens()) {
    ids = *tokens;
  } else {
    ET_LOG(Error, "an input of type %s is not supported", input.type_name());
    return Error::NotSupported;
  }
  ET_CHECK_OR_RETURN_ERROR(!ids.empty(), InvalidArgument, "the prompt has no tokens");
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, kTokenEmbeddingMethod));
  const size_t most =
      expected.sizes.empty() || expected.sizes.back() < 1 ? 1 : static_cast<size_t>(expected.sizes.back());
  std::vector<int64_t> whole(ids.begin(), ids.end());
  std::vector<TensorPtr> parts;
  for (size_t first = 0; first < whole.size(); first += most) {
    const auto count = static_cast<SizesType>(std::min(most, whole.size() - first));
    const TensorPtr tokens = from_blob(whole.data() + first, {1, count}, ScalarType::Long);
    ET_ASSIGN_OR_RETURN(embeddings, decoder_runner_->embed(tokens));
    ET_ASSIGN_OR_RETURN(rows, rows_of({embeddings}, kTokenEmbeddingMethod));
    parts.push_back(rows);
  }
  return joined(parts, kTokenEmbeddingMethod);
}

Result<Tensor> MultimodalPrefiller::run(const Encoded& input, int64_t& start_pos) {
  const TensorPtr& embeddings = input.embeddings;
  ET_ASSIGN_OR_RETURN(other, input.is_picture ? has_method(kPictureDecoderMethod) : Result<bool>(false));
  const std::string method = other ? kPictureDecoderMethod : decoder_runner_->method_name();
  ET_ASSIGN_OR_RETURN(expected, first_input(*module_, method));
  ET_CHECK_OR_RETURN_ERROR(
      expected.sizes.size() == 3 && expected.sizes[1] > 0 && expected.sizes[2] == embeddings->size(2), InvalidProgram,
      "embeddings have the sizes %s, but method '%s' takes %s", text_of(sizes_of(*embeddings)).c_str(), method.c_str(),
      text_of(expected.sizes).c_str());
  std::vector<EValue> more;
  TensorPtr picture;
  if (input.rows > 0 && other) {
    picture = make_tensor_ptr({3}, std::vector<int64_t>{start_pos, input.rows, input.columns});
    more.emplace_back(*picture);
  }
  ET_CHECK_OR_RETURN_ERROR(!other || !more.empty() || embeddings->size(1) <= expected.sizes[1], InvalidProgram,
                           "a picture has %d positions, but method '%s' takes %d",
                           static_cast<int>(embeddings->size(1)), method.c_str(), static_cast<int>(expected.sizes[1]));
  ET_ASSIGN_OR_RETURN(converted, in_dtype_of(embeddings, expected, method));
  const auto count = static_cast<int64_t>(converted->size(1));
  for (int64_t first = 0;;) {
    const int64_t now = std::min<int64_t>(expected.sizes[1], count - first);
    const TensorPtr part = part_of(converted, 1, first, now);
    ET_ASSIGN_OR_RETURN(logits, decoder_runner_->decode(EValue(*part), start_pos, method, more));
    first += now;
    start_pos += now;
    if (first == count) {
      return logits;
    }
  }
}

Result<uint64_t> MultimodalPrefiller::prefill(const MultimodalInput& input, int64_t& start_pos, int32_t bos,
                                              int32_t eos) {
  ET_CHECK_OR_RETURN_ERROR(bos >= 0 && bos <= INT8_MAX && eos >= 0 && eos <= INT8_MAX, InvalidArgument,
                           "bos is %" PRId32 " and eos %" PRId32 "; expected numbers from 0 to 127", bos, eos);
  const auto encoded = [&]() -> Result<Encoded> {
    if (!input.is_text() && !input.is_tokens()) {
      return encode(input);
    }
    ET_ASSIGN_OR_RETURN(embeddings, embed_tokens(input, bos, eos));
    return Encoded{embeddings};
  };
  ET_ASSIGN_OR_RETURN(given, encoded());
  ET_ASSIGN_OR_RETURN(logits, run(given, start_pos));
  return decoder_runner_->sample(logits, 0.0F);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
