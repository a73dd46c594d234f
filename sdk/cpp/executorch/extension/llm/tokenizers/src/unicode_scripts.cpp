// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "pre_tokenizer.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// The long names of Unicode 16's scripts, without Common and without those of Japanese, which count as one script
/// here.
constexpr const char* kScripts =
    "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki "
    "Bopomofo Brahmi "
    "Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic "
    "Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs "
    "Elbasan "
    "Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema "
    "Hangul "
    "Hanifi_Rohingya Hanunoo Hatran Hebrew Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian "
    "Javanese Kaithi Kannada Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin "
    "Lepcha "
    "Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi "
    "Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani "
    "Myanmar "
    "Nabataean Nag_Mundari Nandinagari Newa New_Tai_Lue Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal "
    "Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic "
    "Old_Uyghur "
    "Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan "
    "Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar "
    "Syloti_Nagri "
    "Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh "
    "Tirhuta "
    "Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square";

class UnicodeScripts final : public PreTokenizer {
 public:
  /// One alternative for each script: a match is a run of it. sc is the script of a character; without it, a property
  /// is true of every script in which the character is used.
  Error load(Work& work) {
    // A space, and a character of no script, belongs to the run before it.
    const auto run = [](const std::string& characters) { return "(?:" + characters + "++[ \\p{sc:Unknown}]*+)++"; };
    std::string expression = run("[\\p{sc:Hiragana}\\p{sc:Katakana}\\p{sc:Han}\\x{30fc}]");
    expression += "|" + run("[^\\P{sc:Common} \\x{30fc}]");
    const std::string_view names = kScripts;
    for (size_t begin = 0; begin < names.size();) {
      const size_t end = std::min(names.find(' ', begin), names.size());
      expression += "|" + run("\\p{sc:" + std::string(names.substr(begin, end - begin)) + "}");
      begin = end + 1;
    }
    return runs_.compile(expression, RegexSyntax::kOniguruma, work);
  }

  Error apply(PieceList& list) const override {
    return list.split_each([&](std::string_view piece, size_t offset, std::vector<Range>& pieces) {
      size_t begin = 0;
      bool any = false;
      // Text before the first run is left out, as in Hugging Face's `tokenizers`.
      TK_CHECK_OK_OR_RETURN_ERROR(runs_.for_each(piece, list.work, [&](size_t start, size_t) {
        if (any) {
          pieces.push_back({offset + begin, offset + start});
        }
        begin = start;
        any = true;
        return Error::Ok;
      }));
      if (any) {
        pieces.push_back({offset + begin, offset + piece.size()});
      }
      return Error::Ok;
    });
  }

 private:
  Regex runs_;
};

}  // namespace

Error make_unicode_scripts(const JsonValue&, Work& work, std::unique_ptr<PreTokenizer>& pre_tokenizer) {
  auto made = std::make_unique<UnicodeScripts>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(work));
  pre_tokenizer = std::move(made);
  return Error::Ok;
}

}  // namespace tokenizers::detail
