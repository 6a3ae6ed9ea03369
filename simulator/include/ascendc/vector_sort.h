// SPDX-License-Identifier: Apache-2.0
// Sorting: groups of 32, merging up to four sorted queues, and the library calls around them.
#pragma once

#include "ascendc/sync.h"
#include "ascendc/vector_gather.h"

namespace AscendC {

constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;

struct MrgSort4Info {
    __aicore__ MrgSort4Info() {}
    __aicore__ MrgSort4Info(const uint16_t elementLengthsIn[MRG_SORT_ELEMENT_LEN], const bool ifExhaustedSuspensionIn,
                            const uint16_t validBitIn, const uint16_t repeatTimesIn)
        : ifExhaustedSuspension(ifExhaustedSuspensionIn),
          validBit(validBitIn),
          repeatTimes(static_cast<uint8_t>(repeatTimesIn)) {
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            elementLengths[i] = elementLengthsIn[i];
        }
    }

    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
};

template <typename T>
struct MrgSortSrcList {
    __aicore__ MrgSortSrcList() {}
    __aicore__ MrgSortSrcList(const LocalTensor<T>& src1In, const LocalTensor<T>& src2In, const LocalTensor<T>& src3In,
                              const LocalTensor<T>& src4In)
        : src1(src1In), src2(src2In), src3(src3In), src4(src4In) {}

    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

namespace vector_call {

template <typename T>
sim::SortCall SortOf(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& score,
                     const LocalTensor<uint32_t>& index, int64_t repeat, const sim::Site& site) {
    sim::SortCall call;
    call.head = sim::Call{name, sim::Pipe::kVector, site};
    call.dst = ToOperand(dst);
    call.score = ToOperand(score);
    call.index = ToOperand(index);
    call.repeat = repeat;
    return call;
}

template <typename T>
uint64_t Merge(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const uint16_t* lengths, bool suspend,
               uint16_t valid, int64_t repeat, const sim::Site& site) {
    sim::MergeSortCall call;
    call.head = sim::Call{"MrgSort", sim::Pipe::kVector, site};
    call.dst = ToOperand(dst);
    const LocalTensor<T>* const queues[] = {&src.src1, &src.src2, &src.src3, &src.src4};
    for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
        call.src[i] = ToOperand(*queues[i]);
        call.length[i] = lengths[i];
    }
    call.suspend = suspend;
    call.valid = valid;
    call.repeat = repeat;
    return sim::VectorMergeSort(call);
}

}  // namespace vector_call

template <typename T>
__aicore__ inline void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
                              const int32_t repeatTimes, sim::Site site = sim::Site::Here()) {
    sim::VectorSort32(vector_call::SortOf("Sort32", dst, src0, src1, repeatTimes, site));
}

template <typename T>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
                               sim::Site site = sim::Site::Here()) {
    vector_call::Merge(dst, src, params.elementLengths, params.ifExhaustedSuspension, params.validBit,
                       params.repeatTimes, site);
}

// How many pairs of each queue the last MrgSort has merged.
__aicore__ inline void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3,
                                        uint16_t& mrgSortList4, sim::Site site = sim::Site::Here()) {
    const uint64_t counts = sim::ReadMergedCounts(sim::Call{"GetMrgSortResult", sim::Pipe::kScalar, site});
    mrgSortList1 = static_cast<uint16_t>(counts);
    mrgSortList2 = static_cast<uint16_t>(counts >> 16);
    mrgSortList3 = static_cast<uint16_t>(counts >> 32);
    mrgSortList4 = static_cast<uint16_t>(counts >> 48);
}

// ---- The library's calls ----

template <typename T, bool isExhaustedSuspension = false>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList,
                               const uint16_t elementCountList[4], uint32_t sortedNum[4], uint16_t validBit,
                               const int32_t repeatTimes, sim::Site site = sim::Site::Here()) {
    const uint64_t counts =
        vector_call::Merge(dst, sortList, elementCountList, isExhaustedSuspension, validBit, repeatTimes, site);
    if constexpr (isExhaustedSuspension) {
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            sortedNum[i] = static_cast<uint16_t>(counts >> (16 * i));
        }
    }
}

// Scores need no preparation here: the result is the source itself.
template <typename T>
__aicore__ inline void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& tmp,
                              const int32_t repeatTimes) {
    (void)tmp;
    (void)repeatTimes;
    concat = src;
}

// Sorts groups of 32, with isFullSort all of them.
template <typename T, bool isFullSort>
__aicore__ inline void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
                            LocalTensor<T>& tmp, const int32_t repeatTimes, sim::Site site = sim::Site::Here()) {
    const sim::SortCall call = vector_call::SortOf("Sort", dst, concat, index, repeatTimes, site);
    if constexpr (isFullSort) {
        sim::VectorSortAll(call, ToOperand(tmp));
        PipeBarrier<PIPE_V>(site);
    } else {
        sim::VectorSort32(call);
    }
}

// Takes scores and indices apart, 32 pairs per repeat.
template <typename T>
__aicore__ inline void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
                               const LocalTensor<T>& sorted, const int32_t repeatTimes,
                               sim::Site site = sim::Site::Here()) {
    constexpr bool isHalf = sizeof(PrimT<T>) == sizeof(half);
    uint64_t count = 0;
    const uint16_t repeats = static_cast<uint16_t>(repeatTimes);
    // Every fourth 16-bit element or every second 32-bit element is a score; the other 32-bit half is the index.
    GatherMask(dstValue, sorted, static_cast<uint8_t>(isHalf ? 3 : 1), false, 0, {1, repeats, 8, 0}, count, site);
    PipeBarrier<PIPE_V>(site);
    GatherMask(dstIndex, sorted.template ReinterpretCast<uint32_t>(), 2, false, 0, {1, repeats, 8, 0}, count, site);
}

// A pair takes 8 bytes: elements of T from a position, and of a length, in pairs.
template <typename T>
__aicore__ inline uint32_t GetSortOffset(const uint32_t elemOffset) {
    return elemOffset * static_cast<uint32_t>(8 / sizeof(T));
}

template <typename T>
__aicore__ inline uint32_t GetSortLen(const uint32_t elemCount) {
    return elemCount * static_cast<uint32_t>(8 / sizeof(T));
}

}  // namespace AscendC
