// SPDX-License-Identifier: BSD-3-Clause
// The model Unigram of a tokenizer.json.
#include <algorithm>

#include "failure.h"
#include "model.h"
#include "utf8.h"
#include "viterbi.h"

namespace tokenizers::detail {
namespace {

/// The score of an unknown character is lower by this than the lowest score of a token.
constexpr double kUnknownScorePenalty = 10;

class Unigram final : public Model {
 public:
  Error load(const JsonValue& json);
  Error tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const override;

 private:
  Error add(std::string_view text, std::vector<uint64_t>& ids) const;

  Trie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  uint32_t unknown_ = kNoToken;
  bool byte_fallback_ = false;
  std::vector<uint32_t> fallback_;
};

Error Unigram::load(const JsonValue& json) {
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("byte_fallback", byte_fallback_, false));
  JsonValue tokens;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("vocab", tokens));
  yyjson_arr_iter iterator = yyjson_arr_iter_with(tokens.get());
  double smallest = 0;
  while (yyjson_val* entry = yyjson_arr_iter_next(&iterator)) {
    yyjson_val* text = yyjson_arr_get(entry, 0);
    yyjson_val* score = yyjson_arr_get(entry, 1);
    if (yyjson_arr_size(entry) != 2 || !yyjson_is_str(text) || !yyjson_is_num(score)) {
      return JsonValue(entry, tokens.path() + "[" + std::to_string(scores_.size()) + "]")
          .expected("[\"token\", score]");
    }
    const auto id = static_cast<uint32_t>(scores_.size());
    const std::string_view token = json_text(text);
    TK_CHECK_OK_OR_RETURN_ERROR(add_token(vocabulary_, token, id));
    trie_.set(token, id);
    scores_.push_back(yyjson_get_num(score));
    smallest = id == 0 ? scores_.back() : std::min(smallest, scores_.back());
  }
  unknown_score_ = smallest - kUnknownScorePenalty;
  if (json["unk_id"]) {
    uint64_t unknown = 0;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("unk_id", unknown));
    if (unknown >= scores_.size()) {
      return fail(Error::ParseFailure, "model.unk_id is %llu, but there are %zu tokens",
                  static_cast<unsigned long long>(unknown), scores_.size());
    }
    unknown_ = static_cast<uint32_t>(unknown);
  }
  if (byte_fallback_) {
    fallback_ = byte_tokens(vocabulary_);
  }
  return Error::Ok;
}

Error Unigram::tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const {
  std::vector<Segment>& segments = workspace.segments;
  TK_CHECK_OK_OR_RETURN_ERROR(best_segments<double>(
      trie_, word, unknown_score_,
      [this](uint32_t token, size_t, double& score) {
        score = scores_[token];
        return true;
      },
      workspace.work, segments));
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.take(kBytesPerId * word.size()));
  // Adjacent unknown characters become one token.
  for (size_t i = 0; i < segments.size(); i++) {
    const auto is_unknown = [&](uint32_t token) { return token == Trie::kNothing || token == unknown_; };
    const size_t begin = segments[i].begin;
    if (!is_unknown(segments[i].token)) {
      ids.push_back(segments[i].token);
      continue;
    }
    while (i + 1 < segments.size() && is_unknown(segments[i + 1].token)) {
      i++;
    }
    TK_CHECK_OK_OR_RETURN_ERROR(add(word.substr(begin, segments[i].end - begin), ids));
  }
  return Error::Ok;
}

Error Unigram::add(std::string_view text, std::vector<uint64_t>& ids) const {
  const uint32_t id = vocabulary_.find(text);
  if (id != kNoToken) {
    ids.push_back(id);
    return Error::Ok;
  }
  if (unknown_ == kNoToken) {
    return fail(Error::EncodeFailure, "\"%.100s\" is not in the vocabulary, and model.unk_id names no unknown token",
                std::string(text).c_str());
  }
  const auto token = [this](char c) { return fallback_[static_cast<unsigned char>(c)]; };
  if (byte_fallback_ && std::all_of(text.begin(), text.end(), [&](char c) { return token(c) != kNoToken; })) {
    for (const char c : text) {
      ids.push_back(token(c));
    }
  } else {
    ids.push_back(unknown_);
  }
  return Error::Ok;
}

}  // namespace

Error make_unigram(const JsonValue& json, std::unique_ptr<Model>& model) {
  auto made = std::make_unique<Unigram>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json));
  model = std::move(made);
  return Error::Ok;
}

}  // namespace tokenizers::detail
