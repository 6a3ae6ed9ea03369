// SPDX-License-Identifier: Apache-2.0
// Mmad of integers: operands are unpacked to 16 bits, rows of A and one strip of B at a time.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "cube/mmad_kernel.h"
#include "numerics/bits.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kFractalBytes = 512;
constexpr std::uint64_t kRowBytes = 32;

struct Scratch {
    std::vector<std::int16_t> rows;   // m x k
    std::vector<std::int16_t> panel;  // k x 16
};

Scratch& ThreadScratch() {
    thread_local Scratch scratch;
    return scratch;
}

// `count` consecutive values; two 4-bit values share a byte, the first in its lower half.
void Unpack(std::int16_t* to, const std::byte* from, std::uint64_t count, DType type) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (type == DType::kInt8) {
            to[i] = static_cast<std::int8_t>(from[i]);
            continue;
        }
        const int byte = std::to_integer<int>(from[i / 2]);
        const int value = i % 2 == 0 ? byte & 0xF : byte >> 4;
        to[i] = static_cast<std::int16_t>(value >= 8 ? value - 16 : value);
    }
}

std::uint64_t ElementsPerRow(DType type) { return type == DType::kInt4 ? 2 * kRowBytes : kRowBytes; }

void UnpackLeft(std::int16_t* rows, const std::byte* a, DType type, const MmadShape& shape) {
    if (shape.left_is_vector) {
        Unpack(rows, a, shape.k, type);
        return;
    }
    const std::uint64_t group = ElementsPerRow(type);
    for (std::uint64_t row = 0; row < shape.m; ++row) {
        for (std::uint64_t k = 0; k < shape.k; k += group) {
            const std::uint64_t fractal = row / 16 * shape.left_row_fractals + k / group;
            Unpack(rows + row * shape.k + k, a + fractal * kFractalBytes + row % 16 * kRowBytes,
                   std::min(group, shape.k - k), type);
        }
    }
}

// The columns [16 * strip, 16 * strip + 16) of the first k rows of B.
void UnpackRight(std::int16_t* panel, const std::byte* b, DType type, std::uint64_t k_count, std::uint64_t strip,
                 std::uint64_t strips) {
    const std::uint64_t group = ElementsPerRow(type);
    std::int16_t column_values[2 * kRowBytes];
    for (std::uint64_t k = 0; k < k_count; k += group) {
        const std::uint64_t count = std::min(group, k_count - k);
        for (std::uint64_t column = 0; column < kStripColumns; ++column) {
            Unpack(column_values, b + (k / group * strips + strip) * kFractalBytes + column * kRowBytes, count, type);
            for (std::uint64_t i = 0; i < count; ++i) {
                panel[(k + i) * kStripColumns + column] = column_values[i];
            }
        }
    }
}

// At most 4095 products below 2^14: the sum of one call fits 32 bits, only adding it to C can overflow.
ASCEND_SIM_CLONES void AddProducts(std::int32_t* c, const std::int16_t* row, const std::int16_t* panel,
                                   std::uint64_t k) {
    std::int32_t sums[kStripColumns] = {};
    for (std::uint64_t step = 0; step < k; ++step) {
        const std::int32_t factor = row[step];
        for (int i = 0; i < kStripColumns; ++i) {
            sums[i] += factor * panel[step * kStripColumns + i];
        }
    }
    for (int i = 0; i < kStripColumns; ++i) {
        const std::int64_t sum = std::int64_t{c[i]} + sums[i];
        c[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                                                  std::numeric_limits<std::int32_t>::max()));
    }
}

template <typename FillPanel>
void Multiply(std::int32_t* c, const std::byte* a, DType type, const MmadShape& shape, FillPanel fill_panel) {
    Scratch& scratch = ThreadScratch();
    scratch.rows.resize(std::max(scratch.rows.size(), std::size_t{shape.m} * shape.k));
    scratch.panel.resize(std::max(scratch.panel.size(), std::size_t{shape.k} * kStripColumns));
    UnpackLeft(scratch.rows.data(), a, type, shape);
    const std::uint64_t strips = (shape.n + 15ULL) / 16;
    const std::uint64_t strip_values = (shape.m + 15ULL) / 16 * 16 * kStripColumns;
    for (std::uint64_t strip = 0; strip < strips; ++strip) {
        fill_panel(scratch.panel.data(), strip, strips);
        for (std::uint64_t row = 0; row < shape.m; ++row) {
            AddProducts(c + strip * strip_values + row * kStripColumns, scratch.rows.data() + row * shape.k,
                        scratch.panel.data(), shape.k);
        }
    }
}

}  // namespace

void MultiplyIntegers(std::int32_t* c, const std::byte* a, const std::byte* b, DType operands, const MmadShape& shape) {
    Multiply(c, a, operands, shape, [&](std::int16_t* panel, std::uint64_t strip, std::uint64_t strips) {
        UnpackRight(panel, b, operands, shape.k, strip, strips);
    });
}

bool MultiplySparse(std::int32_t* c, const std::byte* a, const std::byte* b, const std::byte* indices,
                    const MmadShape& shape) {
    constexpr std::uint64_t kIndexFractalBytes = 128;
    constexpr std::uint64_t kIndexRowBytes = 8;
    const std::uint64_t rows = SparseRows(shape.k);
    std::vector<std::int16_t> kept(rows * kStripColumns);
    bool valid = true;
    const auto expand = [&](std::int16_t* panel, std::uint64_t strip, std::uint64_t strips) {
        UnpackRight(kept.data(), b, DType::kInt8, rows, strip, strips);
        std::fill_n(panel, shape.k * std::uint64_t{kStripColumns}, std::int16_t{0});
        for (std::uint64_t row = 0; row < rows; ++row) {
            for (std::uint64_t column = 0; column < kStripColumns && strip * 16 + column < shape.n; ++column) {
                const std::uint64_t at = (row / kRowBytes * strips + strip) * kIndexFractalBytes +
                                         column * kIndexRowBytes + row % kRowBytes / 4;
                const int index = std::to_integer<int>(indices[at]) >> row % 4 * 2 & 3;
                valid = valid && index != 3;
                // The first value of a pair meets one of the columns 0..2 of its four, the second one of 1..3.
                const std::uint64_t k = row / 2 * 4 + row % 2 + static_cast<std::uint64_t>(index);
                if (k < shape.k) {
                    std::int16_t& value = panel[k * kStripColumns + column];
                    value = static_cast<std::int16_t>(value + kept[row * kStripColumns + column]);
                }
            }
        }
    };
    Multiply(c, a, DType::kInt8, shape, expand);
    return valid;
}

}  // namespace ascend_attention::sim
