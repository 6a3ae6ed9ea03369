// SPDX-License-Identifier: Apache-2.0
// Fixpipe: L0C to GM or L1, converting on the way, as rows (NZ2ND, to GM only) or as columns of fractals (NZ). Results
// of one byte make fractals of 32 columns of two of 16 (channel merge); a last odd one keeps its 16 columns.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/core.h"
#include "cube/fixpipe_convert.h"
#include "cube/fractal.h"
#include "cube/unit_flags.h"
#include "machine/cube_calls.h"
#include "move/global_store.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kColumns = 16;        // of a fractal of L0C
constexpr std::uint64_t kRowBytes = 64;       // of such a fractal
constexpr std::uint64_t kNdUnitBytes = 1024;  // of srcNdStride

void RequireRanges(Access& access, const FixpipeCall& move) {
    const bool to_l1 = move.target.space == Space::kL1;
    access.RequireSpace(move.source, "src", Space::kL0C);
    access.Require(to_l1 || move.target.space == Space::kGlobal, "memory of dst", static_cast<int>(move.target.space),
                   "GM, L1");
    access.RequireAligned(move.source, "src", kRowBytes);
    RequireFixpipeTypes(access, move);
    access.Require(move.n_size <= 4095, "nSize", move.n_size, "0..4095");
    access.Require(move.m_size <= (move.row_major ? 8192U : 65535U), "mSize", move.m_size,
                   move.row_major ? "0..8192 with NZ2ND" : "0..65535");
    access.Require(move.source_stride <= 65535, "srcStride", move.source_stride, "0..65535");
    access.Require(move.target_stride != 0, "dstStride", 0, "not 0");
    if (move.row_major) {
        access.Require(!to_l1, "format", 1, "NZ when dst is in L1");
        access.Require(!move.channel_split, "isChannelSplit", 1, "false with NZ2ND");
        access.Require(move.nd_count <= 1 || (move.source_nd_stride >= 1 && move.source_nd_stride <= 512),
                       "srcNdStride", move.source_nd_stride, "1..512 when ndNum > 1");
        access.Require(move.nd_count <= 1 || (move.target_nd_stride >= 1 && move.target_nd_stride <= 65535),
                       "dstNdStride", move.target_nd_stride, "1..65535 when ndNum > 1");
        access.Require(move.target_stride >= move.n_size || move.m_size <= 1, "dstStride", move.target_stride,
                       "nSize or more: rows of the result must not overlap");
        return;
    }
    access.RequireAligned(move.target, "dst", kBlockBytes);
    if (move.channel_split) {
        access.Require(move.source.dtype == DType::kFloat32 && move.target.dtype == DType::kFloat32, "isChannelSplit",
                       1, "false unless src and dst are float");
        access.Require(!to_l1, "isChannelSplit", 1, "false when dst is in L1");
        access.Require(move.unit_flag == 0, "unitFlag", move.unit_flag, "0 with isChannelSplit");
        access.Require(move.n_size % 8 == 0, "nSize", move.n_size, "a multiple of 8 with isChannelSplit");
    } else {
        access.Require(move.n_size % kColumns == 0, "nSize", move.n_size, "a multiple of 16 without NZ2ND");
    }
}

// The source columns [0, nSize) of the rows [0, mSize), in whole strips and one partial strip.
template <typename Function>
void ForEachSourceRegion(const FixpipeCall& move, std::uint64_t nd, Function function) {
    const std::uint64_t base = nd * move.source_nd_stride * kNdUnitBytes;
    const std::uint64_t strip = move.source_stride * kRowBytes;
    const std::uint64_t full = move.n_size / kColumns;
    const std::uint64_t tail = move.n_size % kColumns;
    if (full != 0) {
        function(Region{base, move.m_size * kRowBytes, full, strip});
    }
    if (tail != 0) {
        function(Region{base + full * strip, tail * 4, move.m_size, kRowBytes});
    }
}

// Rows are stored in pieces of 512 bytes where they lie on such, in smaller ones elsewhere.
constexpr CostRows kCosts{"Fixpipe",
                          "Fixpipe",
                          "Fixpipe rows unaligned",
                          "Fixpipe rows unaligned",
                          "Fixpipe rows unaligned",
                          "Fixpipe rows unaligned"};

// The result in pieces of a row: `columns` wide, the last possibly narrower.
struct Layout {
    std::uint64_t columns;
    std::uint64_t row_bytes;     // between rows of the result
    std::uint64_t column_bytes;  // between pieces of a row
    std::uint64_t nd_bytes;
    std::uint64_t last_row_bytes;  // between rows of the last piece, when it is narrower
};

Layout LayoutOf(const FixpipeCall& move) {
    const std::uint64_t element = ElementBytes(move.target.dtype);
    if (move.row_major) {
        const std::uint64_t row = move.target_stride * element;
        return {kColumns, row, kColumns * element, move.target_nd_stride * element, row};
    }
    const std::uint64_t columns = move.channel_split ? 8 : element == 1 ? 2 * kColumns : kColumns;
    return {columns, columns * element, move.target_stride * kBlockBytes, 0, move.n_size % columns * element};
}

// What the result covers: whole pieces, and a narrower last one of results of one byte.
struct TargetRegions {
    Region whole;
    Region last;
};

TargetRegions RegionsOf(const FixpipeCall& move, const Layout& layout) {
    const std::uint64_t element = ElementBytes(move.target.dtype);
    if (move.row_major) {
        return {Region{0, move.n_size * element, move.m_size, layout.row_bytes, move.nd_count, layout.nd_bytes}, {}};
    }
    const std::uint64_t pieces = move.n_size / layout.columns;
    TargetRegions regions{Region{0, move.m_size * layout.row_bytes, pieces, layout.column_bytes}, {}};
    if (pieces == 0) {
        regions.whole = Region{};
    }
    if (move.n_size % layout.columns != 0) {
        regions.last = Region{pieces * layout.column_bytes, move.m_size * layout.last_row_bytes};
    }
    return regions;
}

// Gathers one row of the source.
void Gather(const FixpipeCall& move, const std::byte* row, float* values) {
    for (std::uint64_t column = 0; column < move.n_size; column += kColumns) {
        std::memcpy(values + column, row + column / kColumns * move.source_stride * kRowBytes, kRowBytes);
    }
}

// A conversion makes one element of the result of one of the source.
void CarryConverted(Access& access, const FixpipeCall& move, std::uint64_t to, std::uint64_t from,
                    std::uint64_t columns) {
    const std::uint64_t element = ElementBytes(move.target.dtype);
    for (std::uint64_t column = 0; column < columns; ++column) {
        if (!access.AllDefined(move.source,
                               from + column % kColumns * 4 + column / kColumns * move.source_stride * kRowBytes, 4)) {
            access.Undefines(move.target, Region{to + column * element, element});
        }
    }
}

// One matrix, row by row. Rows that are converted are gathered first, so that the conversion runs over whole rows.
void MoveMatrix(Access& access, const FixpipeCall& move, const GlobalStore& store, const FixpipeConverter& converter,
                const std::byte* data, std::uint64_t nd, bool carries) {
    const Layout layout = LayoutOf(move);
    const std::uint64_t element = ElementBytes(move.target.dtype);
    const std::uint64_t strip = move.source_stride * kRowBytes;
    const std::uint64_t source_base = nd * move.source_nd_stride * kNdUnitBytes;
    std::vector<float> values(converter.keeps() ? 0 : RoundUp(move.n_size, kColumns));
    std::vector<std::byte> converted(values.size() * 4);
    for (std::uint64_t row = 0; row < move.m_size; ++row) {
        const std::uint64_t row_base = source_base + row * kRowBytes;
        if (!converter.keeps()) {
            Gather(move, data + row_base, values.data());
            converter.Convert(converted.data(), values.data());
            if (move.row_major) {
                store.Put(nd * layout.nd_bytes + row * layout.row_bytes, converted.data(), move.n_size * element);
                continue;
            }
        }
        for (std::uint64_t column = 0; column < move.n_size; column += layout.columns) {
            const std::uint64_t columns = std::min<std::uint64_t>(layout.columns, move.n_size - column);
            const std::uint64_t from = row_base + column / kColumns * strip + column % kColumns * 4;
            const std::uint64_t to = nd * layout.nd_bytes + column / layout.columns * layout.column_bytes +
                                     row * (columns == layout.columns ? layout.row_bytes : layout.last_row_bytes);
            store.Put(to, converter.keeps() ? data + from : converted.data() + column * element, columns * element);
            if (carries && !converter.keeps()) {
                CarryConverted(access, move, to, from, columns);
            } else if (carries) {
                access.Carries(move.target, to, move.source, from, columns * element);
            }
        }
    }
}

bool SourceDefined(const Access& access, const FixpipeCall& move, std::uint64_t nd) {
    bool defined = true;
    for (std::uint64_t column = 0; column < move.n_size; column += kColumns) {
        const std::uint64_t offset =
            nd * move.source_nd_stride * kNdUnitBytes + column / kColumns * move.source_stride * kRowBytes;
        defined = defined && access.AllDefined(move.source, offset, move.m_size * kRowBytes);
    }
    return defined;
}

FixpipeCall WithState(const FixpipeCall& given, FixpipeState& state) {
    FixpipeCall move = given;
    if (given.from_state) {
        move.nd_count = state.nd_count;
        move.source_nd_stride = state.source_nd_stride;
        move.target_nd_stride = state.target_nd_stride;
        move.scale = state.quant_scalar;
        if (IsVector(move.quant)) {
            move.has_scales = true;
            move.scales = Operand{Space::kFixpipe, DType::kUint64, state.quant_vector_address, 0, 0};
        }
    } else {
        if (move.row_major) {
            state.nd_count = static_cast<std::uint16_t>(move.nd_count);
            state.source_nd_stride = static_cast<std::uint16_t>(move.source_nd_stride);
            state.target_nd_stride = static_cast<std::uint16_t>(move.target_nd_stride);
        }
        if (HasScale(move.quant) && !IsVector(move.quant)) {
            state.quant_scalar = move.scale;
        }
    }
    if (!move.row_major) {
        move.nd_count = 1;
    }
    return move;
}

UnitSpan UnitsOf(const FixpipeCall& move, std::uint64_t nd) {
    return {Shifted(move.source, nd * move.source_nd_stride * kNdUnitBytes), CeilDivide(move.m_size, 16),
            CeilDivide(move.n_size, kColumns), move.source_stride * kRowBytes};
}

}  // namespace

void Execute(const FixpipeCall& given) {
    Core& core = CurrentCore();
    const Call call{given.from_state ? "DataCopy" : "Fixpipe", Pipe::kFixpipe, given.site};
    Access access(core, call);
    const FixpipeCall move = WithState(given, core.state.fixpipe);
    RequireRanges(access, move);
    if (move.n_size == 0 || move.m_size == 0 || move.nd_count == 0) {
        return;
    }
    const FixpipeConverter converter(access, move);
    if (!given.from_state && move.has_scales) {
        // The call copies its scales to the start of the Fixpipe buffer, at most 256 at a time.
        core.state.fixpipe.quant_vector_address = 0;
        access.Undefines(Operand{Space::kFixpipe, DType::kUint64, 0, 0, 0},
                         Region{0, std::min<std::uint64_t>(move.n_size, 256) * 8});
    }
    const Layout layout = LayoutOf(move);
    const TargetRegions regions = RegionsOf(move, layout);
    // Without NZ2ND nSize is rounded up to whole fractals: the columns that no Mmad has defined stay undefined,
    // converted or not. With NZ2ND the kernel can name the columns that it means.
    const bool carries = (converter.keeps() || !move.row_major) && core.state.atomic.mode == AtomicMode::kNone;
    const std::byte* data = nullptr;
    for (std::uint64_t nd = 0; nd < move.nd_count; ++nd) {
        WaitForUnits(access, call, move.unit_flag, UnitsOf(move, nd));
        ForEachSourceRegion(move, nd, [&](const Region& region) {
            data = carries ? access.ReadsToCarry(move.source, "src", region) : access.Reads(move.source, "src", region);
        });
    }
    access.CostsAs(kCosts, move.m_size * move.nd_count);
    GlobalStore store(access, move.target, "dst", regions.whole);
    store.Extend(access, regions.last);
    for (std::uint64_t nd = 0; nd < move.nd_count; ++nd) {
        MoveMatrix(access, move, store, converter, data, nd, carries && !SourceDefined(access, move, nd));
        HandOverUnits(access, call, move.unit_flag, UnitsOf(move, nd));
    }
}

}  // namespace ascend_attention::sim
