// SPDX-License-Identifier: Apache-2.0
// Reading the contents of a section of debug information.
#pragma once

#include <cstdint>
#include <cstring>

namespace ascend_attention::sim {

// Reads forward in a section. What lies behind its end reads as zero and sets `failed`: a damaged table ends a search,
// never the process.
class SectionReader {
public:
    SectionReader(const unsigned char* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}

    bool failed() const { return failed_; }
    std::uint64_t position() const { return position_; }
    bool AtEnd() const { return failed_ || position_ >= bytes_; }

    // A reader of the next `bytes` alone, which this one skips.
    SectionReader Part(std::uint64_t bytes) {
        if (bytes > bytes_ - position_) {
            failed_ = true;
            return SectionReader(data_, 0);
        }
        const SectionReader part(data_ + position_, bytes);
        position_ += bytes;
        return part;
    }

    void Skip(std::uint64_t bytes) { Part(bytes); }

    template <typename T>
    T Fixed() {
        T value{};
        if (sizeof(T) > bytes_ - position_) {
            failed_ = true;
            return value;
        }
        std::memcpy(&value, data_ + position_, sizeof(T));
        position_ += sizeof(T);
        return value;
    }

    std::uint64_t Word(int bytes) {
        switch (bytes) {
            case 1:
                return Fixed<std::uint8_t>();
            case 2:
                return Fixed<std::uint16_t>();
            case 4:
                return Fixed<std::uint32_t>();
            default:
                return Fixed<std::uint64_t>();
        }
    }

    std::uint64_t Unsigned() {  // LEB128
        std::uint64_t value = 0;
        for (int shift = 0;; shift += 7) {
            const auto byte = Fixed<std::uint8_t>();
            value |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
            if ((byte & 0x80U) == 0) {
                return value;
            }
        }
    }

    std::int64_t Signed() {
        std::uint64_t value = 0;
        int shift = 0;
        std::uint8_t byte = 0;
        do {
            byte = Fixed<std::uint8_t>();
            value |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
            shift += 7;
        } while ((byte & 0x80U) != 0);
        if (shift < 64 && (byte & 0x40U) != 0) {
            value |= ~std::uint64_t{0} << shift;
        }
        return static_cast<std::int64_t>(value);
    }

    const char* String() {
        const void* end = position_ < bytes_ ? std::memchr(data_ + position_, 0, bytes_ - position_) : nullptr;
        if (end == nullptr) {
            failed_ = true;
            return "";
        }
        const char* text = reinterpret_cast<const char*>(data_ + position_);
        position_ = static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - data_) + 1;
        return text;
    }

private:
    const unsigned char* data_;
    std::uint64_t bytes_;
    std::uint64_t position_ = 0;
    bool failed_ = false;
};

}  // namespace ascend_attention::sim
