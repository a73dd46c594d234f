// SPDX-License-Identifier: BSD-3-Clause
#include <pytorch/tokenizers/sentencepiece.h>

#include <algorithm>
#include <optional>

#include "failure.h"
#include "guarded.h"
#include "sentencepiece_encoder.h"

namespace tokenizers {

using detail::fail;
using detail::SentencePieceModel;

struct SPTokenizer::State {
  detail::SentencePieceEncoder encoder;
  std::optional<uint64_t> bos, eos;
  std::string unknown_surface;
  bool strips_first_space = true;
};

SPTokenizer::SPTokenizer() = default;
SPTokenizer::~SPTokenizer() = default;

Error SPTokenizer::load(const std::string& tokenizer_path) {
  return detail::guarded([&]() -> Error {
    std::string bytes;
    TK_CHECK_OK_OR_RETURN_ERROR(detail::read_file(tokenizer_path, bytes));
    return load_from_buffer(bytes);
  });
}

Error SPTokenizer::load_from_buffer(std::string_view bytes) {
  return detail::guarded([&]() -> Error {
    SentencePieceModel model;
    TK_CHECK_OK_OR_RETURN_ERROR(model.load(bytes));
    auto made = std::make_unique<State>();
    TK_CHECK_OK_OR_RETURN_ERROR(made->encoder.load(model));
    const auto named = [&](std::string_view name) {
      const uint32_t id = made->encoder.find(name);
      return id == detail::kNoToken ? std::nullopt : std::optional<uint64_t>(id);
    };
    made->bos = named(model.bos_name);
    made->eos = named(model.eos_name);
    made->unknown_surface = model.unknown_surface;
    made->strips_first_space = model.add_dummy_prefix || model.remove_extra_spaces;
    state_ = std::move(made);
    vocab_size_ = static_cast<int32_t>(state_->encoder.size());
    bos_tok_ = state_->bos.value_or(0);
    eos_tok_ = state_->eos.value_or(0);
    unk_tok_ = state_->encoder.unknown();
    initialized_ = true;
    return Error::Ok;
  });
}

Result<std::string> SPTokenizer::id_to_piece(uint64_t token) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (token >= state_->encoder.size()) {
      return no_such_token(token);
    }
    return std::string(state_->encoder.piece(token));
  });
}

Result<uint64_t> SPTokenizer::piece_to_id(const std::string& text) const {
  return detail::guarded([&]() -> Result<uint64_t> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    const uint32_t id = state_->encoder.find(text);
    return id != detail::kNoToken ? Result<uint64_t>(id)
                                  : fail(Error::OutOfRange, "there is no token \"%.100s\"", text.c_str());
  });
}

Result<float> SPTokenizer::score(uint64_t token) const {
  return detail::guarded([&]() -> Result<float> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (token >= state_->encoder.size()) {
      return no_such_token(token);
    }
    return state_->encoder.score(token);
  });
}

Result<std::vector<uint64_t>> SPTokenizer::encode(const std::string& input, int8_t bos, int8_t eos) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    TK_CHECK_OK_OR_RETURN_ERROR(detail::check_text(input));
    std::vector<uint64_t> ids;
    if (state_->bos && bos > 0) {
      ids.assign(static_cast<size_t>(bos), *state_->bos);
    }
    TK_CHECK_OK_OR_RETURN_ERROR(state_->encoder.encode(input, ids));
    if (state_->eos && eos > 0) {
      ids.insert(ids.end(), static_cast<size_t>(eos), *state_->eos);
    }
    return ids;
  });
}

Result<std::string> SPTokenizer::decode(uint64_t prev_token, uint64_t token, bool) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (token >= state_->encoder.size()) {
      return no_such_token(token);
    }
    switch (state_->encoder.kind(token)) {
      case SentencePieceModel::kControl:
        return std::string();
      case SentencePieceModel::kUnknown:
        return state_->unknown_surface;
      case SentencePieceModel::kByte:
        return std::string(1, static_cast<char>(state_->encoder.byte(token)));
      default:
        break;
    }
    std::string_view piece = state_->encoder.piece(token);
    const bool is_first = prev_token == kBeginning || (state_->bos && prev_token == *state_->bos);
    if (is_first && state_->strips_first_space && piece.substr(0, detail::kSpaceMark.size()) == detail::kSpaceMark) {
      piece.remove_prefix(detail::kSpaceMark.size());
    }
    std::string text;
    while (!piece.empty()) {
      if (piece.substr(0, detail::kSpaceMark.size()) == detail::kSpaceMark) {
        text += ' ';
        piece.remove_prefix(detail::kSpaceMark.size());
      } else {
        text += piece[0];
        piece.remove_prefix(1);
      }
    }
    return text;
  });
}

}  // namespace tokenizers
