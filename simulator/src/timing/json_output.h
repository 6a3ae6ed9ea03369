// SPDX-License-Identifier: Apache-2.0
// JSON that is written piece by piece: a trace does not fit into memory twice.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace ascend_attention::sim {

using TraceSink = std::function<void(const char* data, std::size_t size)>;

// Text of the file, handed on in large pieces.
class JsonOutput {
public:
    explicit JsonOutput(const TraceSink& sink) : sink_(sink) { text_.reserve(kPiece + kSlack); }

    JsonOutput& operator<<(const char* text) {
        text_ += text;
        return *this;
    }
    JsonOutput& operator<<(std::int64_t number) {
        text_ += std::to_string(number);
        return *this;
    }
    // With two decimals, whatever the locale.
    JsonOutput& Decimal(double number) {
        const auto hundredths = static_cast<std::int64_t>(std::llround(number * 100));
        return Fixed(hundredths, 100, 2);
    }
    // Nanoseconds as microseconds.
    JsonOutput& Time(std::int64_t nanoseconds) { return Fixed(nanoseconds, 1000, 3); }
    // Quoted. Names of files are bytes: what is no UTF-8 becomes U+FFFD.
    JsonOutput& String(const std::string& text);

    void Flush(bool all = true) {
        if (!text_.empty() && (all || text_.size() >= kPiece)) {
            sink_(text_.data(), text_.size());
            text_.clear();
        }
    }

private:
    static constexpr std::size_t kPiece = std::size_t{1} << 20;
    static constexpr std::size_t kSlack = std::size_t{1} << 14;

    JsonOutput& Fixed(std::int64_t number, std::int64_t unit, std::size_t digits) {
        if (number < 0) {
            text_ += '-';
            number = -number;
        }
        const std::string fraction = std::to_string(number % unit);
        text_ += std::to_string(number / unit);
        text_ += '.';
        text_.append(digits - fraction.size(), '0');
        text_ += fraction;
        return *this;
    }

    const TraceSink& sink_;
    std::string text_;
};

}  // namespace ascend_attention::sim
