// SPDX-License-Identifier: BSD-3-Clause
#include "container.h"

#include <algorithm>
#include <string>

#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

namespace executorch {
namespace backends {
namespace coreml {
namespace {

using runtime::Error;

class ContainerTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

std::string reversed(std::string text) {
  std::reverse(text.begin(), text.end());
  return text;
}

/// A payload of the contents and of a directory, as text.
std::string payload(const std::string& contents, const std::string& nodes) {
  return contents + reversed("{\"nodes\":[" + nodes + "]}");
}

std::string file(const std::string& name, const std::string& offset, const std::string& size) {
  return R"({"children":{},"dataRegion":{"offset":)" + offset + R"(,"size":)" + size + R"(},"kind":0,"name":")" + name +
         R"("})";
}

std::string folder(const std::string& children, const std::string& name) {
  return R"({"children":{)" + children + R"(},"dataRegion":{"offset":0,"size":0},"kind":1,"name":")" + name + R"("})";
}

Error error_of(const std::string& bytes) {
  return read_payload(bytes.data(), bytes.size()).error();
}

TEST_F(ContainerTest, ReadsFilesAndFolders) {
  // CML-18: a file in a folder in the root, an empty file, an empty folder, and a name with an escape.
  const std::string bytes =
      payload("abcde", file("inner", "1", "3") + "," + folder(R"("inner":0)", "a b") + "," + file("empty", "5", "0") +
                           "," + folder("", "none") + "," + file(R"(\"\u00e4)", "4", "1") + "," +
                           folder(R"("\"\u00e4":4,"a b":1,"empty":2,"none":3)", "root"));
  const auto read = read_payload(bytes.data(), bytes.size());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->files.size(), 3u);
  EXPECT_EQ(read->folders, (std::vector<std::string>{"a b", "none"}));
  const File* const inner = read->find("a b/inner");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(inner->data), inner->size), "bcd");
  EXPECT_EQ(read->find("empty")->size, 0u);
  EXPECT_EQ(*read->find("\"\xc3\xa4")->data, 'e');
  EXPECT_TRUE(read->has_folder("none"));
  EXPECT_EQ(read->find("none"), nullptr);
}

TEST_F(ContainerTest, TheRootMayHaveNoName) {
  EXPECT_EQ(error_of(payload("", folder("", ""))), Error::Ok);
}

TEST_F(ContainerTest, RefusesNamesThatLeadOut) {
  for (const char* name : {"..", ".", "", "/etc", "a/b", "..\\\\b", "a\\u0000b", "\\u002e\\u002e", "\\u002fa"}) {
    const std::string bytes =
        payload("a", file(name, "0", "1") + "," + folder("\"" + std::string(name) + "\":0", "root"));
    EXPECT_EQ(error_of(bytes), Error::InvalidProgram) << name;
  }
  EXPECT_EQ(error_of(payload("", folder("", ".."))), Error::InvalidProgram);
}

TEST_F(ContainerTest, RefusesWhatIsNoTree) {
  const std::string one = file("a", "0", "1");
  for (const std::string& nodes : {
           one,                                                                           // the root is a file
           one + "," + folder("", "root"),                                                // a file without a folder
           one + "," + folder(R"("a":1)", "root"),                                        // its own child
           one + "," + folder(R"("a":2)", "root"),                                        // a child that is not there
           one + "," + folder(R"("a":0)", "b") + "," + folder(R"("a":0,"b":1)", "root"),  // in two folders
           one + "," + folder(R"("b":0)", "root"),                                        // another name
           one + "," + folder(R"("a":0,"a":0)", "root"),                                  // twice
           folder(R"("b":1)", "a") + "," + folder(R"("a":0)", "b"),                       // a cycle
           std::string(),                                                                 // no nodes
       }) {
    EXPECT_EQ(error_of(payload("x", nodes)), Error::InvalidProgram) << nodes;
  }
}

TEST_F(ContainerTest, RefusesRegionsOutsideOfThePayload) {
  const auto with = [](const std::string& offset, const std::string& size) {
    return payload("abc", file("a", offset, size) + "," + folder(R"("a":0)", "root"));
  };
  EXPECT_EQ(error_of(with("0", "3")), Error::Ok);
  EXPECT_EQ(error_of(with("3", "0")), Error::Ok);
  for (const auto& [offset, size] :
       std::vector<std::pair<std::string, std::string>>{{"0", "4"},
                                                        {"1", "3"},
                                                        {"4", "0"},
                                                        {"-1", "1"},
                                                        {"1.0", "1"},
                                                        {"0", "18446744073709551615"},
                                                        {"18446744073709551615", "2"},
                                                        {"9223372036854775807", "9223372036854775807"},
                                                        {"\"0\"", "1"},
                                                        {"0", "null"}}) {
    EXPECT_EQ(error_of(with(offset, size)), Error::InvalidProgram) << offset << " " << size;
  }
  // Files that share contents.
  EXPECT_EQ(error_of(payload("abc",
                             file("a", "0", "2") + "," + file("b", "0", "2") + "," + folder(R"("a":0,"b":1)", "root"))),
            Error::InvalidProgram);
}

TEST_F(ContainerTest, RefusesDamagedDirectories) {
  const std::string whole = payload("abc", file("a", "0", "3") + "," + folder(R"("a":0)", "root"));
  ASSERT_EQ(error_of(whole), Error::Ok);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(error_of(whole.substr(0, size)), Error::InvalidProgram) << size;
  }
  EXPECT_EQ(error_of(reversed(R"({"nodes":{}})")), Error::InvalidProgram);
  EXPECT_EQ(error_of(reversed(R"({"nodes":[],"more":1})")), Error::InvalidProgram);
  EXPECT_EQ(error_of(reversed(R"({"nodes":[{}]})")), Error::InvalidProgram);
  EXPECT_EQ(error_of(reversed("{" + std::string(100000, '['))), Error::InvalidProgram);
  EXPECT_EQ(error_of(reversed("{\"" + std::string(1 << 20, 'a'))), Error::InvalidProgram);
  EXPECT_EQ(error_of(reversed("{\"nodes\":[\"\xff\"]}")), Error::InvalidProgram);
}

TEST_F(ContainerTest, RefusesDeepTrees) {
  const auto nested = [](int levels) {
    std::string nodes = folder("", "a");
    for (int i = 1; i < levels; ++i) {
      nodes += "," + folder("\"a\":" + std::to_string(i - 1), "a");
    }
    return payload("", nodes);
  };
  EXPECT_EQ(error_of(nested(64)), Error::Ok);
  EXPECT_EQ(error_of(nested(65)), Error::InvalidProgram);
}

TEST_F(ContainerTest, ReadsPayloadsThatNameAModel) {
  const auto read = [](const std::string& bytes) { return read_shared(bytes.data(), bytes.size()); };
  const auto model = read(R"(CMJR{"version": 1, "key": "coreml_a", "functionName": "forward"})");
  ASSERT_TRUE(model.ok() && model->has_value());
  EXPECT_EQ((*model)->key, "coreml_a");
  EXPECT_EQ((*model)->function_name, "forward");
  EXPECT_FALSE(read("").get().has_value());
  EXPECT_FALSE(read("CMJ").get().has_value());
  EXPECT_FALSE(read(payload("", folder("", "root"))).get().has_value());
  for (const char* text : {"", "{}", "[]", R"({"version": 2, "key": "a", "functionName": "b"})",
                           R"({"version": 1, "key": "", "functionName": "b"})", R"({"version": 1, "key": "a"})",
                           R"({"version": 1, "key": "a", "functionName": 1})",
                           R"({"version": 1, "key": "a", "key": "a", "functionName": "b"})"}) {
    EXPECT_EQ(read(std::string("CMJR") + text).error(), Error::InvalidProgram) << text;
  }
  EXPECT_EQ(read("CMJR{\"key\":\"" + std::string(1 << 16, 'a') + "\"}").error(), Error::InvalidProgram);
}

TEST_F(ContainerTest, ReadsMetadata) {
  const auto read = [](const std::string& text) {
    const std::string bytes = payload(
        text, file("metadata.json", "0", std::to_string(text.size())) + "," + folder(R"("metadata.json":0)", "root"));
    const auto made = read_payload(bytes.data(), bytes.size());
    return read_metadata(*made);
  };
  const auto one = read(R"({"inputNames": ["x"], "outputNames": ["y", "z"], "identifier": "a"})");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->identifier, "a");
  EXPECT_EQ(one->functions.at("").outputs, (std::vector<std::string>{"y", "z"}));
  const auto several = read(R"({"identifier": "b", "methods": {"f": {"inputNames": [], "outputNames": ["y"]}}})");
  ASSERT_TRUE(several.ok());
  EXPECT_EQ(several->functions.at("f").outputs.size(), 1u);
  for (const char* text : {"", "{}", "[]", R"({"inputNames": ["x"]})", R"({"inputNames": [1], "outputNames": []})",
                           R"({"methods": {}})", R"({"methods": {"f": {}}})", R"({"methods": []})"}) {
    EXPECT_EQ(read(text).error(), Error::InvalidProgram) << text;
  }
  EXPECT_EQ(read_metadata(Folder()).error(), Error::InvalidProgram);
}

}  // namespace
}  // namespace coreml
}  // namespace backends
}  // namespace executorch
