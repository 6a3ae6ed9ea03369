// SPDX-License-Identifier: Apache-2.0
#include "common/text.h"

namespace ascend_attention {
namespace {

// Bytes of the well-formed UTF-8 character at `at`; 0 when there is none.
size_t CharacterAt(const std::string& text, size_t at) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned lead = byte(at);
    const size_t bytes = lead < 0x80                   ? 1
                         : lead >= 0xC2 && lead < 0xE0 ? 2
                         : lead >= 0xE0 && lead < 0xF0 ? 3
                         : lead >= 0xF0 && lead < 0xF5 ? 4
                                                       : 0;
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(at + i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    const unsigned second = byte(at + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool no_scalar = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    return overlong || no_scalar ? 0 : bytes;
}

// Control characters of one byte and of two, and the two characters of Unicode that end lines.
bool IsControl(const std::string& text, size_t at, size_t bytes) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(bytes > 1 ? text[at + 1] : 0);
    const auto third = static_cast<unsigned char>(bytes > 2 ? text[at + 2] : 0);
    return byte < 0x20 || byte == 0x7F || (byte == 0xC2 && second < 0xA0) ||
           (byte == 0xE2 && second == 0x80 && (third == 0xA8 || third == 0xA9));
}

}  // namespace

std::string Quoted(const std::string& text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string quoted = "'";
    for (size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const size_t character = CharacterAt(text, at);
        const size_t bytes = IsControl(text, at, character) ? 0 : character;
        if (bytes > 0) {
            quoted += text.substr(at, bytes);
        } else {
            quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        }
        at += bytes > 0 ? bytes : 1;
    }
    return quoted + "'";
}

}  // namespace ascend_attention
