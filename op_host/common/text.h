// SPDX-License-Identifier: Apache-2.0
// Text for people from values of any printable type.
#pragma once

#include <sstream>
#include <string>

namespace ascend_attention {

template <typename... Parts>
std::string Concat(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

// The text in single quotes and on one line: what is no printable UTF-8 is escaped, so that neither a NUL nor a stray
// byte cuts or breaks the message it goes into.
std::string Quoted(const std::string& text);

}  // namespace ascend_attention
