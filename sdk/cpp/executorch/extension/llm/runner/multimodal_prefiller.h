// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/io_manager/io_manager.h>
#include <executorch/extension/llm/runner/multimodal_decoder_runner.h>
#include <executorch/extension/llm/runner/multimodal_input.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;
using tokenizers::Tokenizer;

/// Gives inputs of any type to a program. Methods:
///
///   vision_encoder      a picture, [channels, height, width] or with a batch of one, to embeddings; or its patches,
///                       [patches, channels, side, side], and the rows and columns of their units, int64 [2] (not in
///                       ExecuTorch)
///   vision_preprocessor a picture or patches of uint8 to what vision_encoder takes (not in ExecuTorch)
///   audio_encoder       features, [batch, bins, frames], to embeddings; if its batch is smaller than that of the
///                       features, it is called for one part after another
///   audio_preprocessor  samples, float32 [samples], to features (not in ExecuTorch)
///   token_embedding     tokens, int64 [1, tokens], to embeddings
///   text_decoder        embeddings and the position of the first of them to logits
///   picture_decoder     the same for a whole picture (not in ExecuTorch): its positions attend to each other,
///                       or, if the model uses rows and columns, a third input, int64 [3], has the first
///                       position and the numbers of rows and columns
///
/// Embeddings are tensors whose last dimension is the decoder's; their rows take consecutive positions.
class MultimodalPrefiller {
 public:
  /// The objects that the pointers refer to must outlive this object.
  explicit MultimodalPrefiller(Module* module, MultimodalDecoderRunner* decoder_runner, Tokenizer* tokenizer,
                               IOManager* io_manager);
  virtual ~MultimodalPrefiller() = default;

  /// Runs the program for an input from the position `start_pos`, which is set to the position after the last one that
  /// the program has processed. `bos` and `eos`: tokens around a text. Returns the likeliest next token. Errors: those
  /// of encode() and of the program.
  virtual Result<uint64_t> prefill(const MultimodalInput& input, int64_t& start_pos, int32_t bos = 0, int32_t eos = 0);

  /// Loads the decoder and the encoders that the program has.
  virtual Error load();
  virtual bool is_method_loaded();

  // Not in ExecuTorch: prefill() in two steps.

  struct Encoded {
    TensorPtr embeddings;  // [1, positions, dim]
    bool is_picture = false;
    int32_t rows = 0;  // rows of positions of a picture, if the model uses them
    int32_t columns = 0;
  };
  /// The embeddings of a picture or of sound. NotSupported if the program lacks the method; InvalidArgument, after a
  /// log line that says what the method takes, for another size or dtype. If the program says how, a picture of uint8
  /// of another size is scaled like the model's processor does, but not cut into tiles. Pictures of prompt_of() are
  /// scaled already.
  Result<Encoded> encode(const MultimodalInput& input);
  /// Runs the decoder for embeddings, in as many calls as it needs. Returns the logits that follow, see
  /// TextDecoderRunner::step().
  Result<executorch::aten::Tensor> run(const Encoded& input, int64_t& start_pos);
  /// See MultimodalRunner::prompt_of().
  Result<std::vector<MultimodalInput>> prompt_of(const std::string& text, const std::vector<Image>& images,
                                                 int32_t num_bos);

 private:
  Result<bool> has_method(const std::string& name) const;
  Result<std::optional<Image>> fitted(const Image& image, const std::string& method);
  Result<TensorPtr> encode_image(const Image& image);
  Result<Encoded> encode_patches(const Image& image);
  Result<std::vector<runtime::EValue>> run_on(const Image& image, const std::string& method);
  Result<TensorPtr> encode_audio(const Audio& audio);
  Result<TensorPtr> encode_features(const TensorPtr& features);
  Result<TensorPtr> encode_raw_audio(const RawAudio& audio);
  Result<TensorPtr> embed_tokens(const MultimodalInput& input, int32_t bos, int32_t eos);

  Module* module_;
  MultimodalDecoderRunner* decoder_runner_;
  Tokenizer* tokenizer_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
