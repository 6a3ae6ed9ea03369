// SPDX-License-Identifier: Apache-2.0
// CastDeq from int16 to 8 bits: value * scale + offset, rounded to nearest even and saturated.
//
// A configuration has the scale in its low word (the hardware reads 10 bits of its significand), a 9-bit offset at bit
// 37 and the sign of the result at bit 46. The product and sum are exact here before the one rounding; the device's
// inner precision is not documented. A source block of 16 elements gives 16 bytes, half a destination block, and the
// other half keeps what it had: two calls interleave even and odd blocks.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint32_t kLanes = 128;
constexpr std::uint32_t kPerBlock = 16;

struct Config {
    double scale;
    int offset;
    bool is_signed;

    explicit Config(std::uint64_t bits)
        : scale(FloatOf(static_cast<std::uint32_t>(bits) & 0xFFFFE000U)),
          offset(static_cast<int>(bits >> 37 & 0x1FFU)),
          is_signed((bits >> 46 & 1U) != 0) {
        offset = offset >= 256 ? offset - 512 : offset;
    }

    std::uint8_t Apply(std::int16_t value) const {
        const double low = is_signed ? -128.0 : 0.0;
        const double high = is_signed ? 127.0 : 255.0;
        const double exact = static_cast<double>(value) * scale + offset;
        const double bounded = exact < low ? low : exact > high ? high : exact;
        const double rounded = std::nearbyint(bounded == bounded ? bounded : 0.0);
        return static_cast<std::uint8_t>(static_cast<int>(rounded));
    }
};

// The 16 configurations of a block's elements.
std::array<std::uint64_t, kPerBlock> ReadConfigs(Access& access, bool vector) {
    const DequantisationState& state = access.core().state.dequantisation;
    std::array<std::uint64_t, kPerBlock> configs{};
    if (!vector) {
        access.Require(state.kind == DequantisationState::Kind::kConfig, "SetDeqScale form",
                       static_cast<std::int64_t>(state.kind),
                       "SetDeqScale(scale, offset, signMode) before CastDeq with isVecDeq = false");
        configs.fill(state.config);
        return configs;
    }
    access.Require(state.kind == DequantisationState::Kind::kVector, "SetDeqScale form",
                   static_cast<std::int64_t>(state.kind),
                   "SetDeqScale(vdeq, vdeqInfo) before CastDeq with isVecDeq = true");
    const std::byte* memory = access.Reads(state.vector, "vdeq", Region{0, sizeof(configs), 1, 0, 1, 0});
    std::memcpy(configs.data(), memory, sizeof(configs));
    return configs;
}

struct Places {
    const VectorCall& call;
    const Lanes& lanes;
    std::uint64_t half;  // byte offset within a destination block

    std::uint64_t Destination(std::uint64_t repeat, std::uint32_t lane) const {
        return repeat * static_cast<std::uint64_t>(call.dst_stride.repeat) * kBlockBytes +
               lane / kPerBlock * static_cast<std::uint64_t>(call.dst_stride.block) * kBlockBytes + half +
               lane % kPerBlock;
    }

    // Runs of active lanes within a block.
    template <typename Visit>
    void ForEachRun(std::uint64_t repeat, Visit visit) const {
        for (std::uint32_t lane = 0; lane < kLanes;) {
            std::uint32_t end = lane;
            while (end < kLanes && end / kPerBlock == lane / kPerBlock && lanes.Active(repeat, end)) {
                ++end;
            }
            if (end != lane) {
                visit(lane, end - lane);
            }
            lane = end == lane ? lane + 1 : end;
        }
    }
};

}  // namespace

void VectorCastDequantise(const VectorCall& call, bool vector, bool high) {
    Access access(CurrentCore(), call.head);
    access.Require(call.src0.dtype == DType::kInt16, "src dtype", static_cast<std::int64_t>(call.src0.dtype), "int16");
    access.Require(call.dst.dtype == DType::kInt8 || call.dst.dtype == DType::kUint8, "dst dtype",
                   static_cast<std::int64_t>(call.dst.dtype), "int8, uint8");
    RequireDstBlockStride(access, call.dst_stride);
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535);
    const Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535);
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kLanes);
    if (lanes.empty()) {
        return;
    }
    const std::array<std::uint64_t, kPerBlock> configs = ReadConfigs(access, vector);
    for (const std::uint64_t config : configs) {
        access.Require(Config(config).is_signed == (call.dst.dtype == DType::kInt8), "signMode",
                       Config(config).is_signed, call.dst.dtype == DType::kInt8 ? "true for int8" : "false for uint8");
    }
    // Blocks of both operands advance alike, so the wider element stands for the half block.
    Stream blocks = dst;
    blocks.bits = 16;
    CheckOverlap(access, blocks, src, lanes, Overlap::kNone);
    const std::byte* from = DeclareReads(access, src, lanes);
    const Places places{call, lanes, high ? kBlockBytes / 2 : 0U};
    std::byte* out = access.core().memory(Space::kUb) + call.dst.address;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        places.ForEachRun(repeat, [&](std::uint32_t lane, std::uint32_t count) {
            const std::uint64_t to = places.Destination(repeat, lane);
            access.Writes(call.dst, "dst", Region{to, count, 1, 0, 1, 0});
            for (std::uint32_t i = 0; i < count; ++i) {
                std::int16_t value;
                std::memcpy(&value, from + src.OffsetOf(repeat, lane + i), sizeof(value));
                out[to + i] = static_cast<std::byte>(Config(configs[(lane + i) % kPerBlock]).Apply(value));
            }
        });
    }
}

}  // namespace ascend_attention::sim
