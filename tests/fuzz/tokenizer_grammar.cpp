// SPDX-License-Identifier: BSD-3-Clause
#include "tokenizer_grammar.h"

#include <cstdint>

namespace executorch {
namespace fuzz {
namespace {

constexpr int kDeepest = 20;  // more than the library takes

/// One of some C strings.
template <size_t kCount>
const char* one_of(Choices& choices, const char* const (&texts)[kCount]) {
  return texts[choices.below(kCount)];
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string some_text(Choices& choices) {
  const char* const parts[] = {"a", "b", " ", "▁", "é", "<s>", "Ġ", "<0x61>", "ﷺ", "e\\u0301", "1", ""};
  std::string text;
  for (size_t i = 1 + choices.below(3); i > 0; i--) {
    text += one_of(choices, parts);
  }
  const size_t times = choices.once_in(8) ? 1000 : 1;
  std::string all;
  for (size_t i = 0; i < times; i++) {
    all += text;
  }
  return all;
}

std::string some_number(Choices& choices) {
  const char* const numbers[] = {"0", "1", "2", "3", "100", "-1", "1.5", "16777215", "18446744073709551615"};
  return one_of(choices, numbers);
}

std::string some_bool(Choices& choices) {
  return choices.once_in(2) ? "true" : "false";
}

std::string some_pattern(Choices& choices) {
  const char* const expressions[] = {
      "a", "\\\\s+", "[^\\\\s]+|\\\\s", "(?=a)", "(a+)+b", "((((a))))", ".{1,9}", "(?i:A)|b", "$|^", "", "(?<=a)b"};
  return choices.once_in(2) ? "{\"Regex\": " + quoted(one_of(choices, expressions)) + "}"
                            : "{\"String\": " + quoted(some_text(choices)) + "}";
}

std::string some_list(Choices& choices, const std::string& name, int depth, std::string (*part)(Choices&, int depth)) {
  std::string list;
  for (size_t i = choices.below(5); i > 0; i--) {
    list += (list.empty() ? "" : ", ") + part(choices, depth + 1);
  }
  return R"({"type": "Sequence", ")" + name + "\": [" + list + "]}";
}

std::string some_normalizer(Choices& choices, int depth) {
  const char* const plain[] = {"NFC",          "NFKC", "NFD",       "NFKD",          "Lowercase",
                               "StripAccents", "Nmt",  "ByteLevel", "BertNormalizer"};
  switch (choices.below(depth < kDeepest ? 5 : 4)) {
    case 0:
      return R"({"type": ")" + std::string(one_of(choices, plain)) + R"("})";
    case 1:
      return R"({"type": "Replace", "pattern": )" + some_pattern(choices) +
             ", \"content\": " + quoted(some_text(choices)) + "}";
    case 2:
      return R"({"type": "Prepend", "prepend": )" + quoted(some_text(choices)) + "}";
    case 3:
      return R"({"type": "Strip", "strip_left": )" + some_bool(choices) + "}";
    default:
      return some_list(choices, "normalizers", depth, &some_normalizer);
  }
}

std::string some_pre_tokenizer(Choices& choices, int depth) {
  const char* const plain[] = {"BertPreTokenizer", "Whitespace",  "WhitespaceSplit",
                               "UnicodeScripts",   "Punctuation", "Digits"};
  const char* const ways[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  switch (choices.below(depth < kDeepest ? 6 : 5)) {
    case 0:
      return R"({"type": ")" + std::string(one_of(choices, plain)) + R"("})";
    case 1:
      return R"({"type": "Split", "pattern": )" + some_pattern(choices) +
             ", \"behavior\": " + quoted(one_of(choices, ways)) + ", \"invert\": " + some_bool(choices) + "}";
    case 2:
      return R"({"type": "ByteLevel", "add_prefix_space": )" + some_bool(choices) +
             ", \"use_regex\": " + some_bool(choices) + "}";
    case 3:
      return R"({"type": "Metaspace", "replacement": )" + quoted(some_text(choices)) + "}";
    case 4:
      return R"({"type": "FixedLength", "length": )" + some_number(choices) + "}";
    default:
      return some_list(choices, "pretokenizers", depth, &some_pre_tokenizer);
  }
}

std::string some_post_processor(Choices& choices, int depth) {
  if (depth < kDeepest && choices.once_in(3)) {
    return some_list(choices, "processors", depth, &some_post_processor);
  }
  std::string ids, parts = R"({"Sequence": {"id": "A"}})";
  for (size_t i = choices.below(4); i > 0; i--) {
    ids += (ids.empty() ? "" : ", ") + some_number(choices);
    parts += R"(, {"SpecialToken": {"id": "s"}})";
  }
  return R"({"type": "TemplateProcessing", "single": [)" + parts + R"(], "special_tokens": {"s": {"ids": [)" + ids +
         "]}}}";
}

std::string some_decoder(Choices& choices, int depth) {
  const char* const plain[] = {"ByteLevel", "Fuse", "ByteFallback", "WordPiece", "Metaspace", "BPEDecoder", "CTC"};
  switch (choices.below(depth < kDeepest ? 4 : 3)) {
    case 0:
      return R"({"type": ")" + std::string(one_of(choices, plain)) + R"("})";
    case 1:
      return R"({"type": "Replace", "pattern": )" + some_pattern(choices) +
             ", \"content\": " + quoted(some_text(choices)) + "}";
    case 2:
      return R"({"type": "Strip", "content": )" + quoted(some_text(choices)) + ", \"start\": " + some_number(choices) +
             ", \"stop\": " + some_number(choices) + "}";
    default:
      return some_list(choices, "decoders", depth, &some_decoder);
  }
}

std::string some_model(Choices& choices) {
  const std::string texts[] = {"a", "b", "ab", "<0x61>", some_text(choices), "u"};
  std::string vocabulary, scores;
  for (size_t i = 0; i < 6; i++) {
    const std::string id = choices.once_in(16) ? some_number(choices) : std::to_string(i);
    vocabulary += (i == 0 ? "" : ", ") + quoted(texts[i]) + ": " + id;
    scores += (i == 0 ? "[" : ", [") + quoted(texts[i]) + ", -" + std::to_string(i) + "]";
  }
  switch (choices.below(4)) {
    case 0:
      return R"({"type": "BPE", "unk_token": "u", "byte_fallback": )" + some_bool(choices) +
             ", \"end_of_word_suffix\": " + quoted(choices.once_in(4) ? some_text(choices) : "") +
             ", \"continuing_subword_prefix\": " + quoted(choices.once_in(4) ? some_text(choices) : "") +
             R"(, "merges": ["a b"], "vocab": {)" + vocabulary + "}}";
    case 1:
      return R"({"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": )" + quoted(some_text(choices)) +
             ", \"max_input_chars_per_word\": " + some_number(choices) + ", \"vocab\": {" + vocabulary + "}}";
    case 2:
      return R"({"type": "WordLevel", "unk_token": "u", "vocab": {)" + vocabulary + "}}";
    default:
      return R"({"type": "Unigram", "unk_id": )" + some_number(choices) + ", \"byte_fallback\": " + some_bool(choices) +
             ", \"vocab\": [" + scores + "]}";
  }
}

}  // namespace

std::string make_tokenizer_json(Choices& choices) {
  std::string json = "{\"model\": " + some_model(choices);
  if (choices.once_in(2)) {
    json += ", \"normalizer\": " + some_normalizer(choices, 0);
  }
  if (choices.once_in(2)) {
    json += ", \"pre_tokenizer\": " + some_pre_tokenizer(choices, 0);
  }
  if (choices.once_in(3)) {
    json += ", \"post_processor\": " + some_post_processor(choices, 0);
  }
  if (choices.once_in(2)) {
    json += ", \"decoder\": " + some_decoder(choices, 0);
  }
  if (choices.once_in(2)) {
    json += R"(, "added_tokens": [{"id": )" + some_number(choices) + ", \"content\": " + quoted(some_text(choices)) +
            ", \"normalized\": " + some_bool(choices) + ", \"lstrip\": " + some_bool(choices) +
            ", \"rstrip\": " + some_bool(choices) + ", \"special\": " + some_bool(choices) + "}]";
  }
  return json + "}";
}

std::string make_tokenizer_text(Choices& choices) {
  const char* const parts[] = {"a", "ab", " ", "e\u0301", "<s>", "\uFDFA", "1", "\n", "b", "\U0001F600"};
  std::string text;
  for (size_t i = choices.below(20); i > 0; i--) {
    text += one_of(choices, parts);
  }
  return text;
}

}  // namespace fuzz
}  // namespace executorch
