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

}  // namespace ascend_attention
