// SPDX-License-Identifier: BSD-3-Clause
#include "sentencepiece_model.h"

#include <cstring>

#include "failure.h"

namespace tokenizers::detail {
namespace {

/// The fields of a message of protobuf, one after another.
class Fields {
 public:
  Fields(std::string_view bytes, const char* file) : bytes_(bytes), file_(file) {}

  /// False at the end, or where the message is wrong.
  bool next() {
    if (error_ != Error::Ok || at_ == bytes_.size()) {
      return false;
    }
    const uint64_t tag = varint();
    number_ = static_cast<uint32_t>(tag >> 3);
    value_ = 0;
    content_ = {};
    switch (tag & 7) {
      case 0:
        value_ = varint();
        break;
      case 1:
        content_ = take(8);
        break;
      case 2:
        content_ = take(varint());
        break;
      case 5:
        content_ = take(4);
        break;
      default:
        wrong();
    }
    return error_ == Error::Ok;
  }
  uint32_t number() const { return number_; }
  uint64_t value() const { return value_; }
  std::string_view content() const { return content_; }
  float real() const {
    float value = 0;
    if (content_.size() == sizeof(value)) {
      uint32_t bits = 0;
      for (int i = 3; i >= 0; i--) {
        bits = bits << 8 | static_cast<unsigned char>(content_[static_cast<size_t>(i)]);
      }
      std::memcpy(&value, &bits, sizeof(value));
    }
    return value;
  }
  Error error() const { return error_; }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    wrong();
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (error_ != Error::Ok || size > bytes_.size() - at_) {
      wrong();
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  void wrong() {
    if (error_ == Error::Ok) {
      error_ = fail(Error::ParseFailure, "not a model of SentencePiece: byte %zu is not where a field of protobuf ends",
                    static_cast<size_t>(bytes_.data() - file_) + at_);
    }
  }

  std::string_view bytes_;
  const char* file_;
  size_t at_ = 0;
  uint32_t number_ = 0;
  uint64_t value_ = 0;
  std::string_view content_;
  Error error_ = Error::Ok;
};

}  // namespace

// The numbers of fields are those of sentencepiece_model.proto.
Error SentencePieceModel::load(std::string_view bytes) {
  Fields model(bytes, bytes.data());
  while (model.next()) {
    Fields fields(model.content(), bytes.data());
    if (model.number() == 1) {  // a piece
      Piece piece;
      while (fields.next()) {
        piece.text = fields.number() == 1 ? fields.content() : piece.text;
        piece.score = fields.number() == 2 ? fields.real() : piece.score;
        piece.kind = fields.number() == 3 ? static_cast<uint32_t>(fields.value()) : piece.kind;
      }
      pieces.push_back(piece);
    } else if (model.number() == 2) {  // how it was trained
      while (fields.next()) {
        switch (fields.number()) {
          case 3:
            algorithm = static_cast<uint32_t>(fields.value());
            break;
          case 24:
            space_is_suffix = fields.value() != 0;
            break;
          case 35:
            byte_fallback = fields.value() != 0;
            break;
          case 44:
            unknown_surface = fields.content();
            break;
          case 46:
            bos_name = fields.content();
            break;
          case 47:
            eos_name = fields.content();
            break;
          default:
            break;
        }
      }
    } else if (model.number() == 3) {  // how text is normalised
      while (fields.next()) {
        switch (fields.number()) {
          case 2:
            character_map = fields.content();
            break;
          case 3:
            add_dummy_prefix = fields.value() != 0;
            break;
          case 4:
            remove_extra_spaces = fields.value() != 0;
            break;
          case 5:
            escape_spaces = fields.value() != 0;
            break;
          default:
            break;
        }
      }
    }
    TK_CHECK_OK_OR_RETURN_ERROR(fields.error());
  }
  TK_CHECK_OK_OR_RETURN_ERROR(model.error());
  return pieces.empty() ? fail(Error::ParseFailure, "not a model of SentencePiece: it has no piece") : Error::Ok;
}

}  // namespace tokenizers::detail
