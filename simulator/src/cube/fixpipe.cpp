// SPDX-License-Identifier: Apache-2.0
// Fixpipe: L0C to GM, converting on the way, as rows (NZ2ND) or as columns of fractals (NZ).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/core.h"
#include "cube/fractal.h"
#include "cube/unit_flags.h"
#include "machine/cube_calls.h"
#include "move/global_store.h"
#include "move/regions.h"
#include "numerics/half.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kColumns = 16;        // of a fractal of L0C
constexpr std::uint64_t kRowBytes = 64;       // of such a fractal
constexpr std::uint64_t kNdUnitBytes = 1024;  // of srcNdStride

bool IsVector(Quant quant) { return quant == Quant::kIntToHalfVector; }

void RequireTypes(Access& access, const FixpipeCall& move) {
    struct Combination {
        DType source;
        DType target;
        Quant quant;
    };
    static constexpr Combination kCombinations[] = {
        {DType::kFloat32, DType::kFloat32, Quant::kNone},
        {DType::kInt32, DType::kInt32, Quant::kNone},
        {DType::kFloat32, DType::kFloat16, Quant::kFloatToHalf},
        {DType::kFloat32, DType::kBfloat16, Quant::kFloatToBfloat16},
        {DType::kInt32, DType::kFloat16, Quant::kIntToHalf},
        {DType::kInt32, DType::kFloat16, Quant::kIntToHalfVector},
    };
    bool found = false;
    for (const Combination& known : kCombinations) {
        found = found ||
                (known.source == move.source.dtype && known.target == move.target.dtype && known.quant == move.quant);
    }
    access.Require(found, "quantPre", static_cast<int>(move.quant),
                   "NoQuant for float->float and int32_t->int32_t, F322F16 for float->half, F322BF16 for "
                   "float->bfloat16_t, DEQF16 or VDEQF16 for int32_t->half (8-bit results are not modelled)");
    access.Require(move.has_scales == IsVector(move.quant), "cbufWorkspace", move.has_scales,
                   "a tensor with VDEQF16, none otherwise");
}

void RequireRanges(Access& access, const FixpipeCall& move) {
    access.RequireSpace(move.source, "src", Space::kL0C);
    access.RequireSpace(move.target, "dst", Space::kGlobal);
    access.RequireAligned(move.source, "src", kRowBytes);
    RequireTypes(access, move);
    access.Require(move.n_size <= 4095, "nSize", move.n_size, "0..4095");
    access.Require(move.m_size <= (move.row_major ? 8192U : 65535U), "mSize", move.m_size,
                   move.row_major ? "0..8192 with NZ2ND" : "0..65535");
    access.Require(move.source_stride <= 65535, "srcStride", move.source_stride, "0..65535");
    access.Require(move.target_stride != 0, "dstStride", 0, "not 0");
    if (move.row_major) {
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
        access.Require(move.unit_flag == 0, "unitFlag", move.unit_flag, "0 with isChannelSplit");
        access.Require(move.n_size % 8 == 0, "nSize", move.n_size, "a multiple of 8 with isChannelSplit");
    } else {
        access.Require(move.n_size % kColumns == 0, "nSize", move.n_size, "a multiple of 16 without NZ2ND");
    }
}

// Scales are floats of 1 + 8 + 10 bits: the lower fraction bits are not wired.
float ScaleOf(std::uint64_t config) { return FloatOf(static_cast<std::uint32_t>(config) & 0xFFFFE000U); }

// What happens to a row of values on the way.
class Converter {
public:
    Converter(Access& access, const FixpipeCall& move) : move_(move) {
        if (move.quant != Quant::kIntToHalf && move.quant != Quant::kIntToHalfVector) {
            return;
        }
        scales_.resize(move.n_size, ScaleOf(move.scale));
        std::uint64_t mode_bits = move.scale;
        if (move.has_scales) {
            access.RequireSpace(move.scales, "cbufWorkspace", move.from_state ? Space::kFixpipe : Space::kL1);
            access.RequireAligned(move.scales, "cbufWorkspace", kBlockBytes);
            const std::byte* data = access.Reads(move.scales, "cbufWorkspace", Region{0, move.n_size * 8ULL});
            mode_bits = 0;
            for (std::uint64_t i = 0; i < scales_.size(); ++i) {
                std::uint64_t config;
                std::memcpy(&config, data + i * 8, sizeof config);
                scales_[i] = ScaleOf(config);
                mode_bits |= config;
            }
        }
        access.Require((mode_bits >> 36 & 1) == 0, "bit 36 of the scale", 1,
                       "0 (the right shift before the scale is not modelled)");
        for (const float scale : scales_) {
            access.Require(std::isnormal(scale) || scale == 0.0F, "scale", BitsOf(scale), "a normal float");
        }
    }

    // True when bytes arrive as they are.
    bool keeps() const { return move_.quant == Quant::kNone && !move_.relu; }

    // `values`: nSize floats or integers, one row; may be changed.
    void Convert(std::byte* target, float* values) const {
        const std::size_t count = move_.n_size;
        if (move_.relu) {
            Rectify(values, count);
        }
        auto* narrow = reinterpret_cast<std::uint16_t*>(target);
        switch (move_.quant) {
            case Quant::kFloatToHalf:
                FloatToHalf(narrow, values, count);
                break;
            case Quant::kFloatToBfloat16:
                FloatToBfloat(narrow, values, count);
                break;
            case Quant::kIntToHalf:
            case Quant::kIntToHalfVector:
                Dequantise(values, count);
                FloatToHalf(narrow, values, count);
                break;
            default:
                std::memcpy(target, values, count * 4);
                break;
        }
    }

private:
    void Rectify(float* values, std::size_t count) const {
        const bool integers = move_.source.dtype == DType::kInt32;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t bits = BitsOf(values[i]);
            const bool negative = integers ? bits >> 31 != 0 : values[i] < 0.0F;
            values[i] = FloatOf(negative ? 0 : bits);
        }
    }

    void Dequantise(float* values, std::size_t count) const {
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = static_cast<std::int32_t>(BitsOf(values[i]));
            values[i] = static_cast<float>(value) * scales_[i];
        }
    }

    const FixpipeCall& move_;
    std::vector<float> scales_;
};

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

struct Layout {
    std::uint64_t columns;       // written as one piece
    std::uint64_t row_bytes;     // between rows of the result
    std::uint64_t column_bytes;  // between pieces of a row
    std::uint64_t nd_bytes;
};

Layout LayoutOf(const FixpipeCall& move) {
    const std::uint64_t element = ElementBytes(move.target.dtype);
    if (move.row_major) {
        return {kColumns, move.target_stride * element, kColumns * element, move.target_nd_stride * element};
    }
    const std::uint64_t columns = move.channel_split ? 8 : kColumns;
    return {columns, columns * element, move.target_stride * kBlockBytes, 0};
}

Region TargetRegion(const FixpipeCall& move, const Layout& layout, std::uint64_t nd_count) {
    const std::uint64_t element = ElementBytes(move.target.dtype);
    if (move.row_major) {
        return Region{0, move.n_size * element, move.m_size, layout.row_bytes, nd_count, layout.nd_bytes};
    }
    return Region{0, move.m_size * layout.row_bytes, CeilDivide(move.n_size, layout.columns), layout.column_bytes};
}

// One matrix, row by row. Rows that are converted are gathered first, so that the conversion runs over whole rows.
void MoveMatrix(Access& access, const FixpipeCall& move, const GlobalStore& store, const Converter& converter,
                const std::byte* data, std::uint64_t nd, bool carries) {
    const Layout layout = LayoutOf(move);
    const std::uint64_t element = ElementBytes(move.target.dtype);
    const std::uint64_t strip = move.source_stride * kRowBytes;
    const std::uint64_t source_base = nd * move.source_nd_stride * kNdUnitBytes;
    std::vector<float> values(converter.keeps() ? 0 : RoundUp(move.n_size, kColumns));
    std::vector<std::byte> converted(values.size() * 4);
    for (std::uint64_t row = 0; row < move.m_size; ++row) {
        const std::uint64_t row_base = source_base + row * kRowBytes;
        const std::uint64_t target_base = nd * layout.nd_bytes + row * layout.row_bytes;
        if (!converter.keeps()) {
            for (std::uint64_t column = 0; column < move.n_size; column += kColumns) {
                std::memcpy(&values[column], data + row_base + column / kColumns * strip, kRowBytes);
            }
            converter.Convert(converted.data(), values.data());
            if (move.row_major) {
                store.Put(target_base, converted.data(), move.n_size * element);
                continue;
            }
        }
        for (std::uint64_t column = 0; column < move.n_size; column += layout.columns) {
            const std::uint64_t bytes = std::min<std::uint64_t>(layout.columns, move.n_size - column) * element;
            const std::uint64_t from = row_base + column / kColumns * strip + column % kColumns * 4;
            const std::uint64_t to = target_base + column / layout.columns * layout.column_bytes;
            store.Put(to, converter.keeps() ? data + from : converted.data() + column * element, bytes);
            if (carries) {
                access.Carries(move.target, to, move.source, from, bytes);
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
    } else if (move.row_major) {
        state.nd_count = static_cast<std::uint16_t>(move.nd_count);
        state.source_nd_stride = static_cast<std::uint16_t>(move.source_nd_stride);
        state.target_nd_stride = static_cast<std::uint16_t>(move.target_nd_stride);
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
    const Converter converter(access, move);
    const bool carries = move.quant == Quant::kNone && !move.relu && core.state.atomic.mode == AtomicMode::kNone;
    const std::byte* data = nullptr;
    for (std::uint64_t nd = 0; nd < move.nd_count; ++nd) {
        WaitForUnits(access, call, move.unit_flag, UnitsOf(move, nd));
        ForEachSourceRegion(move, nd, [&](const Region& region) {
            data = carries ? access.ReadsToCarry(move.source, "src", region) : access.Reads(move.source, "src", region);
        });
    }
    const GlobalStore store(access, move.target, "dst", TargetRegion(move, LayoutOf(move), move.nd_count));
    for (std::uint64_t nd = 0; nd < move.nd_count; ++nd) {
        MoveMatrix(access, move, store, converter, data, nd, carries && !SourceDefined(access, move, nd));
        HandOverUnits(access, call, move.unit_flag, UnitsOf(move, nd));
    }
}

void SetFixpipeNzToNd(std::uint32_t nd_count, std::uint32_t source_nd_stride, std::uint32_t target_nd_stride,
                      const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixpipeNz2ndFlag", Pipe::kScalar, site};
    Access access(core, call);
    access.Require(nd_count >= 1 && nd_count <= 65535, "ndNum", nd_count, "1..65535");
    access.Require(source_nd_stride <= 512 && (source_nd_stride >= 1 || nd_count == 1), "srcNdStride", source_nd_stride,
                   "1..512, or 0 when ndNum is 1");
    access.Require(target_nd_stride <= 65535 && (target_nd_stride >= 1 || nd_count == 1), "dstNdStride",
                   target_nd_stride, "1..65535, or 0 when ndNum is 1");
    core.state.fixpipe.nd_count = static_cast<std::uint16_t>(nd_count);
    core.state.fixpipe.source_nd_stride = static_cast<std::uint16_t>(source_nd_stride);
    core.state.fixpipe.target_nd_stride = static_cast<std::uint16_t>(target_nd_stride);
}

void SetFixpipeQuantScalar(std::uint64_t scale, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixpipePreQuantFlag", Pipe::kScalar, site};
    Access access(core, call);
    core.state.fixpipe.quant_scalar = scale;
}

void SetFixpipeTensors(const Operand& quant, bool clear_units, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixPipeConfig", Pipe::kScalar, site};
    Access access(core, call);
    if (clear_units) {
        core.state.unit_flags.fill(0);
    }
    // A tensor elsewhere (L0C) is how kernels call this only to clear the unit flags.
    if (quant.space == Space::kFixpipe) {
        access.RequireAligned(quant, "quantPre", 128);
        core.state.fixpipe.quant_vector_address = quant.address;
    } else {
        access.Require(clear_units, "memory of preTensor", static_cast<int>(quant.space),
                       "the Fixpipe buffer, unless isUnitFlag is true");
    }
}

}  // namespace ascend_attention::sim
