// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <pytorch/tokenizers/result.h>

#include "byte_pairs.h"
#include "json.h"
#include "viterbi.h"
#include "vocabulary.h"
#include "work.h"

namespace tokenizers::detail {

/// Memory that one call of encode reuses from word to word, and the limits of the call.
struct Workspace {
  explicit Workspace(Work& work) : work(work) {}

  Work& work;
  std::vector<Symbol> symbols;
  std::vector<Merge> merges;
  std::vector<Segment> segments;
  std::string text;
};

/// The part of a tokenizer that turns a word into ids.
class Model {
 public:
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Appends the ids of a word, which is not empty. An error of the workspace's Work if that takes too much.
  virtual Error tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const = 0;
  /// Whether words are passed as bytes instead of the characters of a ByteLevel pre-tokenizer.
  virtual bool takes_bytes() const { return false; }
  /// The largest id plus one.
  virtual size_t size() const { return vocabulary_.size(); }
  /// False if there is no such id.
  virtual bool piece(uint64_t id, std::string& text) const;
  /// The id of a piece; kNoToken for an unknown one.
  virtual uint32_t find(std::string_view piece) const { return vocabulary_.find(piece); }
  /// Writes the tables. Error::LoadFailure for a model without a compiled form.
  virtual Error write(CompiledWriter& writer) const;

 protected:
  Vocabulary vocabulary_;
};

/// "model" of a tokenizer.json. `byte_level`: a ByteLevel pre-tokenizer comes before it. `tables`: vocabulary and
/// merges are not in the JSON, but here, as Model::write() wrote them; null otherwise.
Error make_model(const JsonValue& json, bool byte_level, CompiledReader* tables, std::unique_ptr<Model>& model);

/// The models of `make_model`.
Error make_bpe(const JsonValue& json, bool byte_level, CompiledReader* tables, std::unique_ptr<Model>& model);
Error make_unigram(const JsonValue& json, std::unique_ptr<Model>& model);
Error make_word_piece(const JsonValue& json, std::unique_ptr<Model>& model);
Error make_word_level(const JsonValue& json, std::unique_ptr<Model>& model);

/// Error::ParseFailure for a token whose id is above `largest`: tables have an entry for every id below.
Error id_too_large(std::string_view token, uint64_t id, uint64_t largest);

/// "vocab" of a model, an object of ids: calls `add(token, id)`, which returns an Error.
template <typename Add>
Error for_each_token(const JsonValue& model, Add&& add) {
  const JsonValue tokens = model["vocab"];
  if (!tokens.is_object()) {
    return tokens.expected("an object");
  }
  const uint64_t largest = largest_id(tokens.size());
  yyjson_obj_iter iterator = yyjson_obj_iter_with(tokens.get());
  while (yyjson_val* key = yyjson_obj_iter_next(&iterator)) {
    yyjson_val* id = yyjson_obj_iter_get_val(key);
    const std::string_view token = json_text(key);
    if (!yyjson_is_uint(id)) {
      return JsonValue(id, tokens.path() + "[\"" + std::string(token) + "\"]")
          .expected("an id, an integer that is not negative");
    }
    if (yyjson_get_uint(id) > largest) {
      return id_too_large(token, yyjson_get_uint(id), largest);
    }
    TK_CHECK_OK_OR_RETURN_ERROR(add(token, yyjson_get_uint(id)));
  }
  return Error::Ok;
}

/// Adds a token to a vocabulary. Error::ParseFailure for an id that is too large or already used.
Error add_token(Vocabulary& vocabulary, std::string_view token, uint64_t id);
Error read_vocabulary(const JsonValue& model, Vocabulary& vocabulary);

/// The ids of "<0x00>" to "<0xFF>"; kNoToken for bytes that the vocabulary does not have.
std::vector<uint32_t> byte_tokens(const Vocabulary& vocabulary);

}  // namespace tokenizers::detail
