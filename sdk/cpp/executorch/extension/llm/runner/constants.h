// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace extension {
namespace llm {

/// Methods without inputs whose results describe the program.
inline constexpr auto kEnableDynamicShape = "enable_dynamic_shape";
inline constexpr auto kBosId = "get_bos_id";
inline constexpr auto kEosIds = "get_eos_ids";
inline constexpr auto kMaxSeqLen = "get_max_seq_len";
inline constexpr auto kMaxContextLen = "get_max_context_len";
inline constexpr auto kVocabSize = "get_vocab_size";
inline constexpr auto kUseKVCache = "use_kv_cache";
inline constexpr auto kUseSDPAWithKVCache = "use_sdpa_with_kv_cache";

/// Not in ExecuTorch: whether the program keeps state that is not indexed by position, so that it cannot go back.
inline constexpr auto kHasRecurrentState = "has_recurrent_state";

/// Not in ExecuTorch: the tokens that mark a picture and sound in a conversation.
inline constexpr auto kImageTokenId = "get_image_token_id";
inline constexpr auto kAudioTokenId = "get_audio_token_id";

/// Methods of programs that take more than text.
inline constexpr auto kVisionEncoderMethod = "vision_encoder";
inline constexpr auto kAudioEncoderMethod = "audio_encoder";
inline constexpr auto kTokenEmbeddingMethod = "token_embedding";
inline constexpr auto kTextModelMethod = "text_decoder";

/// Not in ExecuTorch: JSON that says how to turn a picture of any size into tensors; see image_preparation.h.
inline constexpr auto kImageProcessor = "get_image_processor";
/// Not in ExecuTorch: like text_decoder, with its cache, for a picture, whose positions all attend to each other.
inline constexpr auto kPictureDecoderMethod = "picture_decoder";
/// Not in ExecuTorch: turns uint8 [channels, height, width] into the input of the vision encoder.
inline constexpr auto kVisionPreprocessorMethod = "vision_preprocessor";
/// Not in ExecuTorch: turns samples of sound, float32 [samples], into the features that the audio encoder takes.
inline constexpr auto kAudioPreprocessorMethod = "audio_preprocessor";

}  // namespace llm
}  // namespace extension
}  // namespace executorch
