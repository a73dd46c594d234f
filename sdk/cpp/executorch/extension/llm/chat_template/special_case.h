// SPDX-License-Identifier: BSD-3-Clause
// Characters whose upper or title case is more than one character: Unicode's SpecialCasing.txt, the unconditional rows.
#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

struct SpecialCase {
  uint32_t character;
  const char16_t* upper;
  const char16_t* title;
};

/// In the order of the characters.
inline constexpr SpecialCase kSpecialCases[] = {
    {0x00DF, u"\x0053\x0053", u"\x0053\x0073"},
    {0x0149, u"\x02BC\x004E", u"\x02BC\x004E"},
    {0x01F0, u"\x004A\x030C", u"\x004A\x030C"},
    {0x0390, u"\x0399\x0308\x0301", u"\x0399\x0308\x0301"},
    {0x03B0, u"\x03A5\x0308\x0301", u"\x03A5\x0308\x0301"},
    {0x0587, u"\x0535\x0552", u"\x0535\x0582"},
    {0x1E96, u"\x0048\x0331", u"\x0048\x0331"},
    {0x1E97, u"\x0054\x0308", u"\x0054\x0308"},
    {0x1E98, u"\x0057\x030A", u"\x0057\x030A"},
    {0x1E99, u"\x0059\x030A", u"\x0059\x030A"},
    {0x1E9A, u"\x0041\x02BE", u"\x0041\x02BE"},
    {0x1F50, u"\x03A5\x0313", u"\x03A5\x0313"},
    {0x1F52, u"\x03A5\x0313\x0300", u"\x03A5\x0313\x0300"},
    {0x1F54, u"\x03A5\x0313\x0301", u"\x03A5\x0313\x0301"},
    {0x1F56, u"\x03A5\x0313\x0342", u"\x03A5\x0313\x0342"},
    {0x1F80, u"\x1F08\x0399", u"\x1F88"},
    {0x1F81, u"\x1F09\x0399", u"\x1F89"},
    {0x1F82, u"\x1F0A\x0399", u"\x1F8A"},
    {0x1F83, u"\x1F0B\x0399", u"\x1F8B"},
    {0x1F84, u"\x1F0C\x0399", u"\x1F8C"},
    {0x1F85, u"\x1F0D\x0399", u"\x1F8D"},
    {0x1F86, u"\x1F0E\x0399", u"\x1F8E"},
    {0x1F87, u"\x1F0F\x0399", u"\x1F8F"},
    {0x1F88, u"\x1F08\x0399", u"\x1F88"},
    {0x1F89, u"\x1F09\x0399", u"\x1F89"},
    {0x1F8A, u"\x1F0A\x0399", u"\x1F8A"},
    {0x1F8B, u"\x1F0B\x0399", u"\x1F8B"},
    {0x1F8C, u"\x1F0C\x0399", u"\x1F8C"},
    {0x1F8D, u"\x1F0D\x0399", u"\x1F8D"},
    {0x1F8E, u"\x1F0E\x0399", u"\x1F8E"},
    {0x1F8F, u"\x1F0F\x0399", u"\x1F8F"},
    {0x1F90, u"\x1F28\x0399", u"\x1F98"},
    {0x1F91, u"\x1F29\x0399", u"\x1F99"},
    {0x1F92, u"\x1F2A\x0399", u"\x1F9A"},
    {0x1F93, u"\x1F2B\x0399", u"\x1F9B"},
    {0x1F94, u"\x1F2C\x0399", u"\x1F9C"},
    {0x1F95, u"\x1F2D\x0399", u"\x1F9D"},
    {0x1F96, u"\x1F2E\x0399", u"\x1F9E"},
    {0x1F97, u"\x1F2F\x0399", u"\x1F9F"},
    {0x1F98, u"\x1F28\x0399", u"\x1F98"},
    {0x1F99, u"\x1F29\x0399", u"\x1F99"},
    {0x1F9A, u"\x1F2A\x0399", u"\x1F9A"},
    {0x1F9B, u"\x1F2B\x0399", u"\x1F9B"},
    {0x1F9C, u"\x1F2C\x0399", u"\x1F9C"},
    {0x1F9D, u"\x1F2D\x0399", u"\x1F9D"},
    {0x1F9E, u"\x1F2E\x0399", u"\x1F9E"},
    {0x1F9F, u"\x1F2F\x0399", u"\x1F9F"},
    {0x1FA0, u"\x1F68\x0399", u"\x1FA8"},
    {0x1FA1, u"\x1F69\x0399", u"\x1FA9"},
    {0x1FA2, u"\x1F6A\x0399", u"\x1FAA"},
    {0x1FA3, u"\x1F6B\x0399", u"\x1FAB"},
    {0x1FA4, u"\x1F6C\x0399", u"\x1FAC"},
    {0x1FA5, u"\x1F6D\x0399", u"\x1FAD"},
    {0x1FA6, u"\x1F6E\x0399", u"\x1FAE"},
    {0x1FA7, u"\x1F6F\x0399", u"\x1FAF"},
    {0x1FA8, u"\x1F68\x0399", u"\x1FA8"},
    {0x1FA9, u"\x1F69\x0399", u"\x1FA9"},
    {0x1FAA, u"\x1F6A\x0399", u"\x1FAA"},
    {0x1FAB, u"\x1F6B\x0399", u"\x1FAB"},
    {0x1FAC, u"\x1F6C\x0399", u"\x1FAC"},
    {0x1FAD, u"\x1F6D\x0399", u"\x1FAD"},
    {0x1FAE, u"\x1F6E\x0399", u"\x1FAE"},
    {0x1FAF, u"\x1F6F\x0399", u"\x1FAF"},
    {0x1FB2, u"\x1FBA\x0399", u"\x1FBA\x0345"},
    {0x1FB3, u"\x0391\x0399", u"\x1FBC"},
    {0x1FB4, u"\x0386\x0399", u"\x0386\x0345"},
    {0x1FB6, u"\x0391\x0342", u"\x0391\x0342"},
    {0x1FB7, u"\x0391\x0342\x0399", u"\x0391\x0342\x0345"},
    {0x1FBC, u"\x0391\x0399", u"\x1FBC"},
    {0x1FC2, u"\x1FCA\x0399", u"\x1FCA\x0345"},
    {0x1FC3, u"\x0397\x0399", u"\x1FCC"},
    {0x1FC4, u"\x0389\x0399", u"\x0389\x0345"},
    {0x1FC6, u"\x0397\x0342", u"\x0397\x0342"},
    {0x1FC7, u"\x0397\x0342\x0399", u"\x0397\x0342\x0345"},
    {0x1FCC, u"\x0397\x0399", u"\x1FCC"},
    {0x1FD2, u"\x0399\x0308\x0300", u"\x0399\x0308\x0300"},
    {0x1FD3, u"\x0399\x0308\x0301", u"\x0399\x0308\x0301"},
    {0x1FD6, u"\x0399\x0342", u"\x0399\x0342"},
    {0x1FD7, u"\x0399\x0308\x0342", u"\x0399\x0308\x0342"},
    {0x1FE2, u"\x03A5\x0308\x0300", u"\x03A5\x0308\x0300"},
    {0x1FE3, u"\x03A5\x0308\x0301", u"\x03A5\x0308\x0301"},
    {0x1FE4, u"\x03A1\x0313", u"\x03A1\x0313"},
    {0x1FE6, u"\x03A5\x0342", u"\x03A5\x0342"},
    {0x1FE7, u"\x03A5\x0308\x0342", u"\x03A5\x0308\x0342"},
    {0x1FF2, u"\x1FFA\x0399", u"\x1FFA\x0345"},
    {0x1FF3, u"\x03A9\x0399", u"\x1FFC"},
    {0x1FF4, u"\x038F\x0399", u"\x038F\x0345"},
    {0x1FF6, u"\x03A9\x0342", u"\x03A9\x0342"},
    {0x1FF7, u"\x03A9\x0342\x0399", u"\x03A9\x0342\x0345"},
    {0x1FFC, u"\x03A9\x0399", u"\x1FFC"},
    {0xFB00, u"\x0046\x0046", u"\x0046\x0066"},
    {0xFB01, u"\x0046\x0049", u"\x0046\x0069"},
    {0xFB02, u"\x0046\x004C", u"\x0046\x006C"},
    {0xFB03, u"\x0046\x0046\x0049", u"\x0046\x0066\x0069"},
    {0xFB04, u"\x0046\x0046\x004C", u"\x0046\x0066\x006C"},
    {0xFB05, u"\x0053\x0054", u"\x0053\x0074"},
    {0xFB06, u"\x0053\x0054", u"\x0053\x0074"},
    {0xFB13, u"\x0544\x0546", u"\x0544\x0576"},
    {0xFB14, u"\x0544\x0535", u"\x0544\x0565"},
    {0xFB15, u"\x0544\x053B", u"\x0544\x056B"},
    {0xFB16, u"\x054E\x0546", u"\x054E\x0576"},
    {0xFB17, u"\x0544\x053D", u"\x0544\x056D"},
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
