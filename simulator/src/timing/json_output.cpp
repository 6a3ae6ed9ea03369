// SPDX-License-Identifier: Apache-2.0
#include "timing/json_output.h"

#include <algorithm>

namespace ascend_attention::sim {

namespace {

// Length of the UTF-8 sequence at `at`, 0 when there is none.
std::size_t SequenceAt(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const int first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first < 0xE0) {
        return follows(1) ? 2 : 0;
    }
    if (first >= 0xE0 && first < 0xF0) {
        const bool overlong = first == 0xE0 && byte(1) < 0xA0;
        const bool surrogate = first == 0xED && byte(1) >= 0xA0;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first < 0xF5) {
        const bool overlong = first == 0xF0 && byte(1) < 0x90;
        const bool beyond = first == 0xF4 && byte(1) >= 0x90;
        return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

}  // namespace

JsonOutput& JsonOutput::String(const std::string& text) {
    static const char* const kHex = "0123456789abcdef";
    text_ += '"';
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = SequenceAt(text, i);
        if (length == 0) {
            text_ += "\xEF\xBF\xBD";
        } else if (byte == '"' || byte == '\\') {
            text_ += '\\';
            text_ += text[i];
        } else if (byte < 0x20 || byte == 0x7F) {
            text_ += "\\u00";
            text_ += kHex[byte >> 4];
            text_ += kHex[byte & 15];
        } else {
            text_.append(text, i, length);
        }
        i += std::max<std::size_t>(length, 1);
    }
    text_ += '"';
    return *this;
}

}  // namespace ascend_attention::sim
