// SPDX-License-Identifier: Apache-2.0
// Reductions: per repeat, per data block, per pair, and of a whole tensor.
#pragma once

#include "ascendc/vector_params.h"

namespace AscendC {
namespace vector_call {

template <typename T>
sim::VectorCall Reduction(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                          const sim::VectorMask& mask, int64_t repeat, int64_t dstRepStride, int64_t srcBlkStride,
                          int64_t srcRepStride, const sim::Site& site) {
    sim::VectorCall call = Head(name, mask, repeat, site);
    call.dst = ToOperand(dst);
    call.src0 = ToOperand(src);
    call.dst_stride = sim::BlockStride{1, dstRepStride};
    call.src0_stride = sim::BlockStride{srcBlkStride, srcRepStride};
    return call;
}

constexpr sim::ReduceOp OpOf(ReduceType type) {
    return type == ReduceType::SUM   ? sim::ReduceOp::kSum
           : type == ReduceType::MAX ? sim::ReduceOp::kMax
                                     : sim::ReduceOp::kMin;
}

}  // namespace vector_call

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceSum", dst, src, vector_call::LanesOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceSum", dst, src, vector_call::MaskOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceMax", dst, src, vector_call::LanesOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMax, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceMax", dst, src, vector_call::MaskOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMax, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceMin", dst, src, vector_call::LanesOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMin, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                      const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("BlockReduceMin", dst, src, vector_call::MaskOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMin, sim::ReduceScope::kBlock, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                     const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                                     const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("PairReduceSum", dst, src, vector_call::LanesOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kPair, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                     const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,
                                     const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("PairReduceSum", dst, src, vector_call::MaskOf<isSetMask>(mask), repeat,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kPair, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                                       const int32_t elemsInOneRepeat, const int32_t dstBlkStride,
                                       const int32_t srcBlkStride, const int32_t dstRepStride,
                                       const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    (void)dstBlkStride;
    sim::VectorReduce(
        vector_call::Reduction("RepeatReduceSum", dst, src, vector_call::LanesOf<isSetMask>(elemsInOneRepeat), repeat,
                               dstRepStride, srcBlkStride, srcRepStride, site),
        sim::ReduceOp::kSum, sim::ReduceScope::kRepeat, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceSum", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kRepeat, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                      sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceMax", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMax, sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                      sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceMin", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMin, sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceSum", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kSum, sim::ReduceScope::kRepeat, 0);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                      sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceMax", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMax, sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

template <typename T, bool isSetMask = true>
__aicore__ inline void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                                      const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                      sim::Site site = sim::Site::Here()) {
    sim::VectorReduce(vector_call::Reduction("WholeReduceMin", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTimes, dstRepStride, srcBlkStride, srcRepStride, site),
                      sim::ReduceOp::kMin, sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

// The 9.x names. On A2/A3 source and destination have one type.
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                    const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                    sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    sim::VectorReduce(vector_call::Reduction("ReduceRepeat", dst, src, vector_call::MaskOf<isSetMask>(mask), repeatTime,
                                             dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                                       const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                       const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    sim::VectorReduce(vector_call::Reduction("ReduceDataBlock", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                             repeatTime, dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kBlock, 0);
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                                      const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    static_assert(reduceType == ReduceType::SUM, "pairs can only be summed");
    sim::VectorReduce(vector_call::Reduction("ReducePairElem", dst, src, vector_call::MaskOf<isSetMask>(mask),
                                             repeatTime, dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kPair, 0);
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,
                                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                    const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                    sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    sim::VectorReduce(vector_call::Reduction("ReduceRepeat", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTime, dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kRepeat, static_cast<uint8_t>(order));
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,
                                       const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                       const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    sim::VectorReduce(vector_call::Reduction("ReduceDataBlock", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTime, dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kBlock, 0);
}

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
__aicore__ inline void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,
                                      const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, sim::Site site = sim::Site::Here()) {
    static_assert(IsSameType<T, U>::value, "source and destination have one type on A2/A3");
    static_assert(reduceType == ReduceType::SUM, "pairs can only be summed");
    sim::VectorReduce(vector_call::Reduction("ReducePairElem", dst, src, vector_call::LanesOf<isSetMask>(mask),
                                             repeatTime, dstRepStride, srcBlkStride, srcRepStride, site),
                      vector_call::OpOf(reduceType), sim::ReduceScope::kPair, 0);
}

namespace vector_call {

template <typename T>
void ReduceTensor(const char* name, sim::ReduceOp op, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                  const LocalTensor<T>& work, const sim::VectorMask& mask, int64_t repeat, int64_t srcRepStride,
                  bool index, const sim::Site& site) {
    sim::VectorReduceAll(Reduction(name, dst, src, mask, repeat, 1, 1, srcRepStride, site), op, ToOperand(work), index);
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t mask, const int32_t repeatTimes, const int32_t srcRepStride,
                                 bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMax", sim::ReduceOp::kMax, dst, src, work, vector_call::LanesOf<true>(mask),
                              repeatTimes, srcRepStride, calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const uint64_t mask[], const int32_t repeatTimes, const int32_t srcRepStride,
                                 bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMax", sim::ReduceOp::kMax, dst, src, work, sim::VectorMask::Bits(mask[0], mask[1]),
                              repeatTimes, srcRepStride, calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t count, bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMax", sim::ReduceOp::kMax, dst, src, work, sim::VectorMask::Count(count), 1, 8,
                              calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t mask, const int32_t repeatTimes, const int32_t srcRepStride,
                                 bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMin", sim::ReduceOp::kMin, dst, src, work, vector_call::LanesOf<true>(mask),
                              repeatTimes, srcRepStride, calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const uint64_t mask[], const int32_t repeatTimes, const int32_t srcRepStride,
                                 bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMin", sim::ReduceOp::kMin, dst, src, work, sim::VectorMask::Bits(mask[0], mask[1]),
                              repeatTimes, srcRepStride, calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t count, bool calIndex = 0, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceMin", sim::ReduceOp::kMin, dst, src, work, sim::VectorMask::Count(count), 1, 8,
                              calIndex, site);
}

template <typename T>
__aicore__ inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t mask, const int32_t repeatTimes, const int32_t srcRepStride,
                                 sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceSum", sim::ReduceOp::kSum, dst, src, work, vector_call::LanesOf<true>(mask),
                              repeatTimes, srcRepStride, false, site);
}

template <typename T>
__aicore__ inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const uint64_t mask[], const int32_t repeatTimes, const int32_t srcRepStride,
                                 sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceSum", sim::ReduceOp::kSum, dst, src, work, sim::VectorMask::Bits(mask[0], mask[1]),
                              repeatTimes, srcRepStride, false, site);
}

template <typename T, bool isSetMask = true>
__aicore__ inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t count, sim::Site site = sim::Site::Here()) {
    vector_call::ReduceTensor("ReduceSum", sim::ReduceOp::kSum, dst, src, work, vector_call::CountOf<isSetMask>(count),
                              1, 8, false, site);
}

namespace vector_call {

template <typename T>
T FromRegister(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace vector_call

// The extreme of a WholeReduceMax or Min over all its repeats and its index (as bits of T), or the extreme of a
// ReduceMax or Min; the sum of a ReduceSum. The GetReduceRepeat names are those of 9.x.
#define ASCEND_SIM_GET_EXTREME(Name)                                                                             \
    template <typename T>                                                                                        \
    __aicore__ inline void Name(T& maxMinValue, T& maxMinIndex, sim::Site site = sim::Site::Here()) {            \
        const uint64_t bits = sim::ReadReducedExtreme(sim::Call{#Name, sim::Pipe::kScalar, site}, DTypeOf<T>()); \
        maxMinValue = vector_call::FromRegister<T>(bits);                                                        \
        maxMinIndex = vector_call::FromRegister<T>(bits >> 32);                                                  \
    }                                                                                                            \
    template <typename T>                                                                                        \
    __aicore__ inline void Name(T&, sim::Site site = sim::Site::Here()) {                                        \
        sim::RequireUse(false, #Name, "the form without index does not exist on A2/A3", site);                   \
    }

ASCEND_SIM_GET_EXTREME(GetReduceMaxMinCount)
ASCEND_SIM_GET_EXTREME(GetReduceRepeatMaxMinSpr)
#undef ASCEND_SIM_GET_EXTREME

template <typename T>
__aicore__ inline T GetAccVal(sim::Site site = sim::Site::Here()) {
    return vector_call::FromRegister<T>(
        sim::ReadReducedSum(sim::Call{"GetAccVal", sim::Pipe::kScalar, site}, DTypeOf<T>()));
}

template <typename T>
__aicore__ inline T GetReduceRepeatSumSpr(sim::Site site = sim::Site::Here()) {
    return vector_call::FromRegister<T>(
        sim::ReadReducedSum(sim::Call{"GetReduceRepeatSumSpr", sim::Pipe::kScalar, site}, DTypeOf<T>()));
}

}  // namespace AscendC
