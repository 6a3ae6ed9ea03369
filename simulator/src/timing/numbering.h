// SPDX-License-Identifier: Apache-2.0
// Numbers for the distinct values of a stream, in the order of their first use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ascend_attention::sim {

template <typename Value, typename Hash>
class Numbering {
public:
    // `values` are those numbered so far. Code comes back to the same few again and again: most are found at the first
    // look.
    std::uint32_t Of(const Value& value, std::vector<Value>& values) {
        Recent& recent = recent_[Hash{}(value) % kRecent];
        if (recent.known && recent.value == value) {
            return recent.number;
        }
        const auto [found, fresh] = numbers_.emplace(value, static_cast<std::uint32_t>(values.size()));
        if (fresh) {
            values.push_back(value);
        }
        recent = Recent{value, found->second, true};
        return found->second;
    }

private:
    static constexpr std::size_t kRecent = 64;
    struct Recent {
        Value value{};
        std::uint32_t number = 0;
        bool known = false;
    };
    std::array<Recent, kRecent> recent_{};
    std::unordered_map<Value, std::uint32_t, Hash> numbers_;
};

}  // namespace ascend_attention::sim
