// SPDX-License-Identifier: Apache-2.0
// Text for people from values of any printable type.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace ascend_attention {

template <typename... Parts>
std::string Concat(const Parts&... parts) {
    std::ostringstream text;
    text.imbue(std::locale::classic());  // 2048, never 2.048, whatever the program around has set
    (text << ... << parts);
    return text.str();
}

// The text in single quotes and on one line: control characters, line ends of Unicode and what is no UTF-8 are escaped
// byte by byte, so that neither a NUL nor a stray byte cuts or breaks the message it goes into.
std::string Quoted(const std::string& text);

}  // namespace ascend_attention
