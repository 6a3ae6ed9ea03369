// SPDX-License-Identifier: Apache-2.0
// Calls that the vendor's library makes of several vector instructions: here one instruction with the same result. The
// work buffer, where the device keeps what lies between, is undefined afterwards.
#include <array>
#include <vector>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

void UseWork(Access& access, const Operand& work, const char* name, std::uint64_t bytes) {
    access.RequireSpace(work, name, Space::kUb);
    access.RequireAligned(work, name, kBlockBytes);
    const Region region{0, bytes, 1, 0, 1, 0};
    access.Writes(work, name, region);
    access.Undefines(work, region);
}

constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);
constexpr DTypeSet kMasks(DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kUint32);

// The library reads a 32-bit mask as a float: a lone sign bit is a zero.
bool IsSet(const std::byte* mask, std::uint64_t bytes) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, mask, bytes);
    return bytes == 4 ? (bits & 0x7FFFFFFFU) != 0 : bits != 0;
}

void RequireShape(Access& access, const SelectBytesCall& call, std::uint64_t element, std::uint64_t mask_element) {
    access.Require(std::uint64_t{call.rows} * call.src_columns == call.src_count, "firstAxis * srcLastAxis",
                   static_cast<std::int64_t>(std::uint64_t{call.rows} * call.src_columns), "the size of the source");
    access.Require(std::uint64_t{call.rows} * call.mask_columns == call.mask_count, "firstAxis * maskLastAxis",
                   static_cast<std::int64_t>(std::uint64_t{call.rows} * call.mask_columns), "the size of the mask");
    access.Require(call.mask_columns >= call.src_columns, "maskLastAxis", call.mask_columns, "srcLastAxis or more");
    access.Require(call.src_columns * element % kBlockBytes == 0, "srcLastAxis", call.src_columns,
                   "a multiple of 32 bytes");
    access.Require(call.mask_columns * mask_element % kBlockBytes == 0 && call.mask_columns % 16 == 0, "maskLastAxis",
                   call.mask_columns, "a multiple of 32 bytes and of 16 elements");
}

}  // namespace

void VectorXor(const VectorCall& call, const Operand& work, std::uint64_t work_bytes) {
    {
        Access access(CurrentCore(), call.head);
        access.Require(work_bytes >= 64, "sharedTmpBuffer size", static_cast<std::int64_t>(work_bytes),
                       "64 bytes or more");
        access.Require(call.mask.low < (std::uint64_t{1} << 31), "calCount", static_cast<std::int64_t>(call.mask.low),
                       ">= 0");
        const std::uint64_t bytes = std::min(call.mask.low * 2, work_bytes / 64 * 64);
        if (bytes != 0) {
            RequireApart(access, call.dst, call.mask.low * 2, work, "sharedTmpBuffer", bytes);
            RequireApart(access, call.src0, call.mask.low * 2, work, "sharedTmpBuffer", bytes);
            RequireApart(access, call.src1, call.mask.low * 2, work, "sharedTmpBuffer", bytes);
            UseWork(access, work, "sharedTmpBuffer", bytes);
        }
    }
    VectorBinary(call, BinaryOp::kXor);
}

void VectorSelectBytes(const SelectBytesCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireSameDType(access, call.dst, call.src, "src dtype");
    RequireDType(access, call.mask.dtype, kMasks, "mask dtype", "bool, int8, uint8, int16, uint16, int32, uint32");
    const std::uint64_t element = BitsOf(call.dst.dtype) / 8;
    const std::uint64_t mask_element = BitsOf(call.mask.dtype) / 8;
    for (const auto& [operand, name] :
         {std::pair{&call.dst, "dst"}, std::pair{&call.src, "src"}, std::pair{&call.mask, "mask"}}) {
        access.RequireSpace(*operand, name, Space::kUb);
        access.RequireAligned(*operand, name, kBlockBytes);
    }
    RequireShape(access, call, element, mask_element);
    const bool compacts = call.src_columns != call.mask_columns;
    const std::uint64_t extra = compacts && !call.reuse_mask
                                    ? (call.src_count * mask_element + kBlockBytes - 1) / kBlockBytes * kBlockBytes
                                    : 0;
    access.Require(call.work_bytes >= 1024 + extra, "sharedTmpBuffer size", static_cast<std::int64_t>(call.work_bytes),
                   extra == 0 ? "1024 bytes or more"
                              : "1024 bytes and the mask's without its padding, because isReuseMask is false");
    if (call.src_count == 0) {
        return;
    }
    const std::uint64_t bytes = call.src_count * element;
    if (call.dst.address != call.src.address) {
        RequireApart(access, call.dst, bytes, call.src, "src", bytes);
    }
    RequireApart(access, call.dst, bytes, call.mask, "mask", call.mask_count * mask_element);
    const std::byte* mask =
        access.Reads(call.mask, "mask",
                     Region{0, call.src_columns * mask_element, call.rows, call.mask_columns * mask_element, 1, 0});
    const std::byte* from = access.ReadsToCarry(call.src, "src", Region{0, bytes, 1, 0, 1, 0});
    const std::vector<std::byte> source(from, from + bytes);
    const bool carry = !access.AllDefined(call.src, 0, bytes);
    std::byte* out = access.Writes(call.dst, "dst", Region{0, bytes, 1, 0, 1, 0});
    for (std::uint64_t row = 0; row < call.rows; ++row) {
        for (std::uint64_t column = 0; column < call.src_columns; ++column) {
            const std::uint64_t at = (row * call.src_columns + column) * element;
            const bool set = IsSet(mask + (row * call.mask_columns + column) * mask_element, mask_element);
            if (set == call.scalar_where_set) {
                std::memcpy(out + at, &call.scalar, element);
            } else {
                std::memcpy(out + at, source.data() + at, element);
                if (carry && call.dst.address != call.src.address) {
                    access.Carries(call.dst, at, call.src, at, element);
                }
            }
        }
    }
    if (compacts && call.reuse_mask) {
        // The mask is packed in place.
        const Region packed{0, call.mask_count * mask_element, 1, 0, 1, 0};
        access.Writes(call.mask, "mask", packed);
        access.Undefines(call.mask, packed);
    }
    UseWork(access, call.work, "sharedTmpBuffer", call.work_bytes);
}

namespace {

constexpr std::uint64_t kHalves = 128;  // of a repeat
constexpr std::uint64_t kHalvesPerBlock = 16;

void RequireBilinear(Access& access, const BilinearCall& call) {
    access.Require(call.dst.dtype == DType::kFloat16, "dst dtype", static_cast<std::int64_t>(call.dst.dtype),
                   "float16");
    RequireSameDType(access, call.dst, call.src0, "src0 dtype");
    RequireSameDType(access, call.dst, call.src1, "src1 dtype");
    for (const auto& [operand, name] :
         {std::pair{&call.dst, "dst"}, std::pair{&call.src0, "src0"}, std::pair{&call.src1, "src1"}}) {
        access.RequireSpace(*operand, name, Space::kUb);
        access.RequireAligned(*operand, name, kBlockBytes);
    }
    access.RequireSpace(call.offset, "src0Offset", Space::kUb);
    access.RequireAligned(call.offset, "src0Offset", kBlockBytes);
    access.Require(call.h_repeat >= 1 && call.v_repeat >= 1, "hRepeat, vRepeat", 0, "1..255");
    access.Require(call.h_repeat * call.v_repeat <= 255, "hRepeat * vRepeat", call.h_repeat * call.v_repeat,
                   "1..255: the library multiplies them in 8 bits");
    access.Require(
        call.v_offset >= kHalves && call.v_offset % kHalvesPerBlock == 0 && call.v_offset / kHalvesPerBlock <= 255,
        "vROffset", call.v_offset, "128..4080, a multiple of 16: the library's repeat stride has 8 bits");
    access.Require(call.dst_block_stride != 0, "dstBlkStride", 0, "1 or more");
    const std::uint64_t weights = call.h_repeat * call.v_repeat * (call.per_block ? 8U : 1U);
    access.Require(call.src1_count / 8 * 8 >= weights && call.src1_count / 8 <= 255, "src1 size",
                   static_cast<std::int64_t>(call.src1_count),
                   "a weight per iteration (per block with repeatMode), in whole groups of 8, at most 255 groups");
}

}  // namespace

void VectorBilinear(const BilinearCall& call) {
    Access access(CurrentCore(), call.head);
    RequireBilinear(access, call);
    access.core().state.mask.counter_mode = false;  // the library works in counter mode and leaves it
    const Lanes lanes = ResolveLanes(access, call.mask, call.v_repeat, kHalves);
    const std::uint64_t iterations = std::uint64_t{call.h_repeat} * call.v_repeat;
    const auto* offsets = As<std::uint32_t>(access.Reads(call.offset, "src0Offset", Region{0, iterations * 32}));
    const auto* weights = As<std::uint16_t>(access.Reads(call.src1, "src1", Region{0, call.src1_count / 8 * 8 * 2}));
    for (std::uint64_t i = 0; i < iterations * 8; ++i) {
        access.Require(offsets[i] % kBlockBytes == 0, "src0Offset", offsets[i], "a multiple of 32");
        access.Reads(call.src0, "src0", Region{offsets[i], kBlockBytes});
    }
    const std::byte* source = access.core().memory(Space::kUb) + call.src0.address;
    std::vector<float> sums(call.v_repeat * kHalves);
    std::array<float, kHalves> product{};
    for (std::uint64_t i = 0; i < iterations; ++i) {
        for (std::uint64_t block = 0; block < 8; ++block) {
            const float weight = HalfToFloat(weights[call.per_block ? i * 8 + block : i]);
            HalfToFloat(product.data() + block * kHalvesPerBlock, As<std::uint16_t>(source + offsets[i * 8 + block]),
                        kHalvesPerBlock);
            for (std::uint64_t k = 0; k < kHalvesPerBlock; ++k) {
                product[block * kHalvesPerBlock + k] *= weight;
            }
        }
        RoundThroughHalf(product.data(), kHalves);
        float* sum = sums.data() + i / call.h_repeat * kHalves;
        for (std::uint64_t k = 0; k < kHalves; ++k) {
            sum[k] = i % call.h_repeat == 0 ? product[k] : sum[k] + product[k];
        }
        RoundThroughHalf(sum, kHalves);
    }
    UseWork(access, call.work, "sharedTmpBuffer", iterations * kRepeatBytes + call.src1_count / 8 * kRepeatBytes);
    if (lanes.empty()) {
        return;
    }
    const BlockStride stride{call.dst_block_stride, call.v_offset / static_cast<std::int64_t>(kHalvesPerBlock)};
    const Stream dst = MakeStream(access, call.dst, "dst", stride, 65535);
    std::byte* out = DeclareWrites(access, dst, lanes);
    const Mover mover(dst, lanes);
    alignas(64) std::uint16_t dense[kHalves];
    for (std::uint64_t v = 0; v < lanes.repeats(); ++v) {
        float* sum = sums.data() + v * kHalves;
        for (std::uint64_t k = 0; k < kHalves; ++k) {
            sum[k] += 0.0F;  // the results are copied by adding a zero
        }
        FloatToHalf(dense, sum, kHalves);
        mover.Scatter(out, reinterpret_cast<const std::byte*>(dense), v, 1);
    }
}

}  // namespace ascend_attention::sim
