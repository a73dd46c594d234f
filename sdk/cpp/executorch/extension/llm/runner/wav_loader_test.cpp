// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/wav_loader.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include <executorch/extension/llm/runner/audio.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::llm;
using executorch::runtime::Error;

std::string little(uint32_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; i++) {
    text.push_back(static_cast<char>(value >> (8 * i)));
  }
  return text;
}

std::string chunk(const char* name, const std::string& data) {
  return name + little(static_cast<uint32_t>(data.size()), 4) + data +
         (data.size() % 2 == 1 ? std::string(1, '\0') : "");
}

std::string format(uint16_t kind, uint16_t channels, uint16_t bits, uint32_t rate = 16000) {
  const auto block = static_cast<uint16_t>(channels * bits / 8);
  return little(kind, 2) + little(channels, 2) + little(rate, 4) + little(rate * block, 4) + little(block, 2) +
         little(bits, 2);
}

std::string wav(const std::string& chunks) {
  return "RIFF" + little(static_cast<uint32_t>(chunks.size() + 4), 4) + "WAVE" + chunks;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class WavLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string& write(const std::string& contents) {
    std::ofstream(path_, std::ios::binary) << contents;
    return path_;
  }

  std::string path_ = ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".wav";
};

/// Integers are divided by the largest one, so that it is 1.
TEST_F(WavLoaderTest, SamplesOfEveryFormat) {
  const std::string pcm16 = bytes_of(std::vector<int16_t>{0, INT16_MAX, -INT16_MAX, 16384});
  const std::vector<float> expected{0, 1, -1, 16384.0F / 32767.0F};
  EXPECT_EQ(load_wav_audio_data(write(wav(chunk("fmt ", format(1, 1, 16)) + chunk("data", pcm16)))), expected);
  EXPECT_EQ(load_wav_audio_data(write(wav(chunk("fmt ", format(1, 1, 32)) +
                                          chunk("data", bytes_of(std::vector<int32_t>{INT32_MAX, -INT32_MAX, 0}))))),
            (std::vector<float>{1, -1, 0}));
  EXPECT_EQ(
      load_wav_audio_data(write(wav(chunk("fmt ", format(1, 1, 8)) + chunk("data", std::string("\xFF\x80\x01", 3))))),
      (std::vector<float>{1, 0, -1}));
  const auto in_24_bits = load_wav_audio_data(
      write(wav(chunk("fmt ", format(1, 1, 24)) + chunk("data", std::string("\x00\x00\xC0\x00\x00\x40", 6)))));
  ASSERT_EQ(in_24_bits.size(), 2U);
  EXPECT_FLOAT_EQ(in_24_bits[0], -0.5F);
  EXPECT_FLOAT_EQ(in_24_bits[1], 0.5F);
  const std::vector<float> floats{0.25F, -1.5F};
  EXPECT_EQ(load_wav_audio_data(write(wav(chunk("fmt ", format(3, 1, 32)) + chunk("data", bytes_of(floats))))), floats);
  EXPECT_EQ(load_wav_audio_data(
                write(wav(chunk("fmt ", format(3, 1, 64)) + chunk("data", bytes_of(std::vector<double>{0.25, -1.5}))))),
            floats);
}

TEST_F(WavLoaderTest, HeadersWithOtherChunks) {
  std::string extensible = format(0xFFFE, 2, 16, 44100) + little(22, 2) + little(16, 2) + little(3, 4);
  extensible += little(1, 2) + std::string(14, '\0');
  const std::string file = wav(chunk("LIST", "odd") + chunk("fmt ", extensible) + chunk("fact", "1234") +
                               chunk("data", bytes_of(std::vector<int16_t>{INT16_MAX, -INT16_MAX, INT16_MAX, 0})));
  const auto header = load_wav_header(file.data(), file.size());
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->AudioFormat, kWavFormatPcm);
  EXPECT_EQ(header->NumOfChan, 2);
  EXPECT_EQ(header->SamplesPerSec, 44100U);
  EXPECT_EQ(header->bitsPerSample, 16);
  EXPECT_EQ(header->Subchunk2Size, 8U);
  EXPECT_EQ(header->dataOffset, file.size() - 8);
  const auto sound = read_wav(write(file));
  ASSERT_TRUE(sound.ok());
  EXPECT_EQ(sound->sample_rate, 44100);
  EXPECT_EQ(sound->samples, (std::vector<float>{0, 0.5}));
  EXPECT_EQ(check_sample_rate(*sound, 16000), Error::InvalidArgument);
  EXPECT_EQ(check_sample_rate(*sound, 44100), Error::Ok);
}

TEST_F(WavLoaderTest, FilesThatCannotBeUsed) {
  const std::string samples = bytes_of(std::vector<int16_t>{1, 2, 3, 4});
  const std::string whole = wav(chunk("fmt ", format(1, 1, 16)) + chunk("data", samples));
  for (size_t length = 0; length < whole.size(); length++) {
    const auto cut = read_wav(write(whole.substr(0, length)));
    EXPECT_EQ(cut.error(), Error::InvalidExternalData) << length;
    EXPECT_TRUE(load_wav_audio_data(path_).empty()) << length;
  }
  EXPECT_TRUE(read_wav(write(whole)).ok());
  for (const std::string& file :
       {wav(chunk("fmt ", format(1, 1, 12)) + chunk("data", samples)),
        wav(chunk("fmt ", format(85, 1, 16)) + chunk("data", samples)),  // MP3
        wav(chunk("fmt ", format(1, 0, 16)) + chunk("data", samples)),
        wav(chunk("fmt ", format(1, 3, 16)) + chunk("data", samples)),  // 8 bytes are not whole blocks of 6
        wav(chunk("fmt ", format(1, 1, 16)) + chunk("data", "")), wav(chunk("data", samples)), std::string("RIFX")}) {
    EXPECT_EQ(read_wav(write(file)).error(), Error::InvalidExternalData);
  }
  EXPECT_EQ(read_wav("/there/is/no/such.wav").error(), Error::AccessFailed);
  EXPECT_EQ(load_wav_header("/there/is/no/such.wav"), nullptr);
  EXPECT_EQ(load_wav_header(nullptr, 0), nullptr);
}

TEST_F(WavLoaderTest, RawAudioMixesChannels) {
  RawAudio audio;
  const std::string bytes = bytes_of(std::vector<int16_t>{16384, -32768, 0, 16384});
  audio.data.assign(bytes.begin(), bytes.end());
  audio.batch_size = 1;
  audio.n_channels = 2;
  audio.n_samples = 2;
  EXPECT_EQ(*audio.samples(), (std::vector<float>{0.25F, -0.25F}));
  audio.batch_size = 2;
  audio.n_channels = 1;
  EXPECT_EQ(*audio.samples(), (std::vector<float>{0.5F, -1.0F, 0.0F, 0.5F}));
  audio.n_samples = 3;
  EXPECT_EQ(audio.samples().error(), Error::InvalidArgument);
  audio.n_samples = 0;
  EXPECT_EQ(audio.samples().error(), Error::InvalidArgument);
  audio.data = {0, 128, 192, 64};
  audio.batch_size = 1;
  audio.n_samples = 4;
  EXPECT_EQ(*audio.samples(), (std::vector<float>{-1.0F, 0.0F, 0.5F, -0.5F}));
}

}  // namespace
