// SPDX-License-Identifier: BSD-3-Clause
#include "post_processor.h"

#include "failure.h"
#include "normalizer.h"
#include "vocabulary.h"

namespace tokenizers::detail {
namespace {

Error read_id(const JsonValue& json, uint64_t& id) {
  id = yyjson_get_uint(json.get());
  return yyjson_is_uint(json.get()) && id <= kLargestToken ? Error::Ok : json.expected("an id of a token");
}

/// BertProcessing and RobertaProcessing: "cls" and "sep" are [token, id].
Error make_pair(const JsonValue& json, PostProcessor& made) {
  uint64_t id = 0;
  TK_CHECK_OK_OR_RETURN_ERROR(read_id(json["cls"].at(1), id));
  made.before.push_back(id);
  TK_CHECK_OK_OR_RETURN_ERROR(read_id(json["sep"].at(1), id));
  made.after.push_back(id);
  return Error::Ok;
}

Error make_template(const JsonValue& json, PostProcessor& made) {
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("single", parts));
  const JsonValue tokens = json["special_tokens"];
  bool has_sequence = false;
  for (size_t i = 0; i < parts.size(); i++) {
    const JsonValue part = parts.at(i);
    if (part["Sequence"]) {
      if (has_sequence) {
        return part.expected("a special token: the sequence is in the template already");
      }
      has_sequence = true;
      continue;
    }
    std::string name;
    TK_CHECK_OK_OR_RETURN_ERROR(part["SpecialToken"].read("id", name));
    JsonValue ids;
    TK_CHECK_OK_OR_RETURN_ERROR(tokens[name.c_str()].read_array("ids", ids));
    for (size_t k = 0; k < ids.size(); k++) {
      uint64_t id = 0;
      TK_CHECK_OK_OR_RETURN_ERROR(read_id(ids.at(k), id));
      (has_sequence ? made.after : made.before).push_back(id);
    }
  }
  return has_sequence ? Error::Ok : parts.expected("a template with {\"Sequence\": ...}");
}

Error make_nested(const JsonValue& json, int depth, PostProcessor& made) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  if (kind == "TemplateProcessing") {
    return make_template(json, made);
  }
  if (kind == "BertProcessing" || kind == "RobertaProcessing") {
    return make_pair(json, made);
  }
  if (kind == "ByteLevel") {
    return Error::Ok;  // it changes offsets only
  }
  if (kind != "Sequence") {
    return fail(Error::LoadFailure, "%.100s: the post-processor \"%.100s\" is not supported", json.path().c_str(),
                kind.c_str());
  }
  if (depth == kDeepestSequence) {
    return fail(Error::LoadFailure, "post_processor: more than %d Sequences are nested in each other",
                kDeepestSequence);
  }
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("processors", parts));
  for (size_t i = 0; i < parts.size(); i++) {
    PostProcessor outer;
    TK_CHECK_OK_OR_RETURN_ERROR(make_nested(parts.at(i), depth + 1, outer));
    made.before.insert(made.before.begin(), outer.before.begin(), outer.before.end());
    made.after.insert(made.after.end(), outer.after.begin(), outer.after.end());
  }
  return Error::Ok;
}

}  // namespace

Error make_post_processor(const JsonValue& json, PostProcessor& post_processor) {
  post_processor = {};
  return json ? make_nested(json, 0, post_processor) : Error::Ok;
}

}  // namespace tokenizers::detail
