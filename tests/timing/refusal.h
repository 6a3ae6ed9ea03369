// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

// What std::invalid_argument says when the action throws it; "" when it does not.
template <typename Action>
std::string Refusal(Action action) {
    try {
        action();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}
