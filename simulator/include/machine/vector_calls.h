// SPDX-License-Identifier: Apache-2.0
// Descriptors of the vector instructions and the functions that execute them. The Ascend C headers only fill these in;
// tests fill them in from Python.
#pragma once

#include <cstdint>

#include "machine/call.h"

namespace ascend_attention::sim {

// How the call says which lanes take part.
//   kRegister  isSetMask = false: the mask register as SetVectorMask left it
//   kBits      mask[]: one bit per lane of a repeat; in counter mode the low word is the element count
//   kLanes     mask: the first `low` lanes of each repeat
//   kCount     the element-count form: `low` elements in total, the repeat parameter does not apply
enum class MaskForm : std::uint8_t { kRegister, kBits, kLanes, kCount };

struct VectorMask {
    MaskForm form = MaskForm::kCount;
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    static VectorMask Register() { return {MaskForm::kRegister, 0, 0}; }
    static VectorMask Bits(std::uint64_t low, std::uint64_t high) { return {MaskForm::kBits, low, high}; }
    static VectorMask Lanes(std::uint64_t lanes) { return {MaskForm::kLanes, lanes, 0}; }
    // Negative counts arrive as huge ones and are refused.
    static VectorMask Count(std::int64_t count) { return {MaskForm::kCount, static_cast<std::uint64_t>(count), 0}; }
};

// Steps between the data blocks of a repeat and between repeats, in blocks of 32 bytes.
struct BlockStride {
    std::int64_t block = 1;
    std::int64_t repeat = 8;
};

struct VectorCall {
    Call head{};
    VectorMask mask{};
    std::int64_t repeat = 1;
    Operand dst{};
    Operand src0{};
    Operand src1{};
    BlockStride dst_stride{};
    BlockStride src0_stride{};
    BlockStride src1_stride{};
    std::uint64_t scalar = 0;  // bits of the scalar operand, in its own type
};

enum class BinaryOp : std::uint8_t {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMax,
    kMin,
    kAnd,
    kOr,
    kXor,
    kAddRelu,
    kSubRelu,
    kMulAddDst,        // dst += src0 * src1
    kFusedMulAdd,      // dst = src0 * dst + src1
    kFusedMulAddRelu,  // dst = relu(src0 * dst + src1)
    kMulAddRelu = kFusedMulAddRelu,
};

// Fused with a conversion to a narrower type.
enum class BinaryCastOp : std::uint8_t {
    kAddReluCast,
    kSubReluCast,
    kMulCast,
    kAddDeqRelu,  // relu((src0 + src1) * scale) of int32, as float16
};

enum class UnaryOp : std::uint8_t { kRelu, kExp, kLn, kAbs, kReciprocal, kRsqrt, kSqrt, kNot };

enum class ScalarOp : std::uint8_t { kAdds, kMuls, kMaxs, kMins, kShiftLeft, kShiftRight, kLeakyRelu, kAxpy };

enum class ReduceOp : std::uint8_t { kSum, kMax, kMin };
// What one result covers: a repeat, a data block, two neighbouring elements.
enum class ReduceScope : std::uint8_t { kRepeat, kBlock, kPair };

ASCEND_SIM_API void VectorBinary(const VectorCall& call, BinaryOp op);
ASCEND_SIM_API void VectorBinaryCast(const VectorCall& call, BinaryCastOp op);
ASCEND_SIM_API void VectorUnary(const VectorCall& call, UnaryOp op);
// `round` is ShiftRight's roundEn.
ASCEND_SIM_API void VectorScalar(const VectorCall& call, ScalarOp op, bool round);

ASCEND_SIM_API void VectorDuplicate(const VectorCall& call);
ASCEND_SIM_API void VectorCreateIndex(const VectorCall& call);
ASCEND_SIM_API void VectorCopy(const VectorCall& call);
ASCEND_SIM_API void VectorBrcb(const VectorCall& call);

// `round_mode` is AscendC::RoundMode.
ASCEND_SIM_API void VectorCast(const VectorCall& call, std::uint8_t round_mode);

// CastDeq: scales, adds an offset and converts. 16-bit results fill half a block; `high` is the second half.
ASCEND_SIM_API void VectorCastDequantise(const VectorCall& call, bool vector, bool high);

// `compare_mode` is AscendC::CMPMODE.
ASCEND_SIM_API void VectorCompare(const VectorCall& call, std::uint8_t compare_mode);
ASCEND_SIM_API void VectorCompareScalar(const VectorCall& call, std::uint8_t compare_mode);
// The result goes to the compare mask register; one repeat.
ASCEND_SIM_API void VectorCompareToRegister(const VectorCall& call, std::uint8_t compare_mode);
ASCEND_SIM_API void VectorGetCompareMask(const Call& head, const Operand& dst);
ASCEND_SIM_API void VectorSetCompareMask(const Call& head, const Operand& src);

// Where Select takes its bits from, and what stands for a 0 bit.
//   kSameBits   mode 0: the first bits of `selector`, again in every repeat
//   kScalar     mode 1: consecutive bits, `scalar` for a 0 bit
//   kTensor     mode 2: consecutive bits, src1 for a 0 bit
//   kRegister   mode 0 without selector: the compare mask register
//   kRegisterScalar  mode 1 without scalar argument: the scalar lies in the compare mask register
enum class SelectSource : std::uint8_t { kSameBits, kScalar, kTensor, kRegister, kRegisterScalar };
ASCEND_SIM_API void VectorSelect(const VectorCall& call, const Operand& selector, SelectSource source);

// `order` is AscendC::ReduceOrder, for kRepeat with kMax and kMin.
ASCEND_SIM_API void VectorReduce(const VectorCall& call, ReduceOp op, ReduceScope scope, std::uint8_t order);
// ReduceMax, ReduceMin, ReduceSum: one result for the whole tensor, `work` for intermediate ones.
ASCEND_SIM_API void VectorReduceAll(const VectorCall& call, ReduceOp op, const Operand& work, bool index);

// `base` is in bytes.
ASCEND_SIM_API void VectorGather(const VectorCall& call, std::uint32_t base);
ASCEND_SIM_API void VectorGatherBlocks(const VectorCall& call);

// src1 is the pattern tensor unless `pattern` is 1 to 7. Returns how many elements were kept.
struct GatherMaskCall {
    Call head{};
    Operand dst{};
    Operand src0{};
    Operand src1{};
    std::uint8_t pattern = 0;
    bool counter = false;
    std::uint32_t mask = 0;
    std::uint16_t repeat = 0;
    std::uint8_t src0_block_stride = 1;
    std::uint16_t src0_repeat_stride = 8;
    std::uint8_t src1_repeat_stride = 8;
};
ASCEND_SIM_API std::uint64_t VectorGatherMask(const GatherMaskCall& call);

// 16 x 16 elements of 16 bits.
ASCEND_SIM_API void VectorTranspose(const VectorCall& call);

// `layout` is AscendC::TransposeType; `work_bytes` is the size of the tensor, which is what the call may use of it.
struct TransposeCall {
    Call head{};
    Operand dst{};
    Operand src{};
    Operand work{};
    std::uint64_t work_bytes = 0;
    std::uint8_t layout = 0;
    std::uint32_t n = 0;
    std::uint32_t c = 0;
    std::uint32_t h = 0;
    std::uint32_t w = 0;
};
ASCEND_SIM_API void VectorTransposeLayout(const TransposeCall& call);

// TransDataTo5HD: a transposition of 16 blocks, which lie anywhere.
struct TransDataCall {
    Call head{};
    DType dtype = DType::kOther;
    Operand dst[16]{};
    Operand src[16]{};
    bool dst_high = false;
    bool src_high = false;
    std::uint8_t repeat = 1;
    std::uint16_t dst_repeat_stride = 0;
    std::uint16_t src_repeat_stride = 0;
};
ASCEND_SIM_API void VectorTransData(const TransDataCall& call);
// The 16 addresses of each side lie in UB.
ASCEND_SIM_API void VectorTransDataIndirect(const TransDataCall& call, const Operand& dst_table,
                                            const Operand& src_table);

// Sorted queues hold (score, index) pairs of 8 bytes.
struct SortCall {
    Call head{};
    Operand dst{};
    Operand score{};
    Operand index{};
    std::int64_t repeat = 0;
};
ASCEND_SIM_API void VectorSort32(const SortCall& call);
// All 32 * repeat elements in one order; `work` holds as many pairs.
ASCEND_SIM_API void VectorSortAll(const SortCall& call, const Operand& work);

struct MergeSortCall {
    Call head{};
    Operand dst{};
    Operand src[4]{};
    std::uint16_t length[4]{};
    bool suspend = false;  // stop when a queue is exhausted
    std::uint16_t valid = 0;
    std::int64_t repeat = 1;
};
// Returns how many pairs of each queue were merged, 16 bits each.
ASCEND_SIM_API std::uint64_t VectorMergeSort(const MergeSortCall& call);

// Library calls that are sequences of vector instructions on the device and one instruction here. Each leaves its
// work buffer undefined.
ASCEND_SIM_API void VectorXor(const VectorCall& call, const Operand& work, std::uint64_t work_bytes);

struct SelectBytesCall {
    Call head{};
    Operand dst{};
    Operand src{};
    Operand mask{};
    Operand work{};
    std::uint64_t src_count = 0;
    std::uint64_t mask_count = 0;
    std::uint64_t work_bytes = 0;
    std::uint64_t scalar = 0;
    bool scalar_where_set = true;  // a mask that is not zero chooses the scalar
    bool reuse_mask = true;
    std::uint32_t rows = 0;
    std::uint32_t src_columns = 0;
    std::uint32_t mask_columns = 0;
};
ASCEND_SIM_API void VectorSelectBytes(const SelectBytesCall& call);

struct BilinearCall {
    Call head{};
    VectorMask mask{};
    Operand dst{};
    Operand src0{};
    Operand offset{};
    Operand src1{};
    Operand work{};
    std::uint64_t src1_count = 0;
    std::uint32_t h_repeat = 0;
    std::uint32_t v_repeat = 0;
    bool per_block = false;  // repeatMode
    std::uint16_t dst_block_stride = 0;
    std::uint16_t v_offset = 0;
};
ASCEND_SIM_API void VectorBilinear(const BilinearCall& call);

// What the scalar unit reads after a vector instruction. The low word is the value, the high one the index.
ASCEND_SIM_API std::uint64_t ReadReducedExtreme(const Call& head, DType dtype);
ASCEND_SIM_API std::uint64_t ReadReducedSum(const Call& head, DType dtype);
ASCEND_SIM_API std::uint64_t ReadGatheredCount(const Call& head);
// The counts of the last VectorMergeSort.
ASCEND_SIM_API std::uint64_t ReadMergedCounts(const Call& head);

// Machine state, set by the scalar unit.
ASCEND_SIM_API void SetMaskMode(const Call& head, bool counter);
ASCEND_SIM_API void SetMaskBits(const Call& head, std::uint64_t low, std::uint64_t high);
// The first `lanes` of a repeat of `element_bytes` wide elements, or in counter mode the element count.
ASCEND_SIM_API void SetMaskLanes(const Call& head, std::int64_t lanes, std::uint32_t element_bytes, bool counter);
ASCEND_SIM_API void ResetMaskBits(const Call& head);
ASCEND_SIM_API void SetDequantisationScale(const Call& head, float scale);
// CastDeq without and with vector: one configuration, or where 16 of them lie in UB.
ASCEND_SIM_API void SetDequantisationConfig(const Call& head, std::uint64_t config);
ASCEND_SIM_API void SetDequantisationVector(const Call& head, const Operand& configs);

}  // namespace ascend_attention::sim
