// SPDX-License-Identifier: Apache-2.0
// TBuf, and queues with their hidden events.
#pragma once

#include <cstdint>

#include "ascendc/resource_pipe.h"

namespace AscendC {

template <TPosition src, TPosition dst, int32_t depth, auto mask>
class TQueBind {
public:
    static constexpr TPosition srcPosition = src;
    static constexpr TPosition dstPosition = dst;
    static constexpr HardEvent enQueEvt = GetQueEvt(GetPhyType(src), GetPhyType(dst), true);
    static constexpr HardEvent freeBufEvt = GetQueEvt(GetPhyType(src), GetPhyType(dst), false);
    static constexpr bool isTQue = true;

    template <typename T>
    LocalTensor<T> AllocTensor(sim::Site site = sim::Site::Here()) {
        sim::RequireUse(bufNum > 0, "AllocTensor", "the queue has no buffers: InitBuffer is missing", site);
        TBufType* found = nullptr;
        for (int i = 0; i < bufNum && found == nullptr; ++i) {
            TBufType* candidate = bufStart + bufCursor;
            bufCursor = static_cast<uint8_t>((bufCursor + 1) % bufNum);
            found = candidate->state == TBufState::FREE ? candidate : nullptr;
        }
        sim::RequireUse(found != nullptr, "AllocTensor", "no buffer of the queue is free: FreeTensor is missing", site);
        found->state = TBufState::OCCUPIED;
        if (found->freeBufEvtID != INVALID_TEVENTID) {
            WaitFlagOf<freeBufEvt>(found->freeBufEvtID, true, site);
            GetTPipePtr()->template ReleaseEventID<freeBufEvt>(found->freeBufEvtID, site);
            found->freeBufEvtID = INVALID_TEVENTID;
        }
        ++bufUsedCount;
        return ToTensor<T>(found);
    }

    template <typename T>
    void FreeTensor(LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        TBufType* buffer = Own(tensor, "FreeTensor", site);
        sim::RequireUse(buffer->state != TBufState::FREE, "FreeTensor", "the tensor's buffer is free already", site);
        buffer->freeBufEvtID = GetTPipePtr()->template AllocEventID<freeBufEvt>(site);
        SetFlagOf<freeBufEvt>(buffer->freeBufEvtID, true, site);
        buffer->state = TBufState::FREE;
        --bufUsedCount;
    }

    template <typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        return EnQueWith<enQueEvt>(tensor, site);
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        return EnQueWith<UserEvent<srcUserPos, dstUserPos>()>(tensor, site);
    }

    template <typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return DeQueWith<enQueEvt, T>(site);
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return DeQueWith<UserEvent<srcUserPos, dstUserPos>(), T>(site);
    }

    bool VacantInQue() const { return usedCount < kSlots; }
    bool HasTensorInQue() const { return usedCount > 0; }
    int32_t GetTensorCountInQue() const { return usedCount; }
    bool HasIdleBuffer() const { return bufUsedCount < bufNum; }
    template <typename T>
    TBufState GetState(const LocalTensor<T>& tensor) const {
        const TBufHandle handle = tensor.GetBufferHandle();
        return handle == nullptr ? TBufState::FREE : reinterpret_cast<const TBufType*>(handle)->state;
    }
    void FreeAllEvent(sim::Site site = sim::Site::Here()) {
        for (int i = 0; i < bufNum; ++i) {
            TBufType& buffer = bufStart[i];
            if (buffer.freeBufEvtID != INVALID_TEVENTID) {
                WaitFlagOf<freeBufEvt>(buffer.freeBufEvtID, true, site);
                GetTPipePtr()->template ReleaseEventID<freeBufEvt>(buffer.freeBufEvtID, site);
                buffer.freeBufEvtID = INVALID_TEVENTID;
            }
        }
    }

protected:
    friend class TPipe;
    static constexpr int kSlots = depth > 0 ? depth : 1;

    template <TPosition userSource, TPosition userTarget>
    static constexpr HardEvent UserEvent() {
        constexpr Hardware source = GetPhyType(userSource);
        constexpr Hardware target = GetPhyType(userTarget);
        static_assert(source == Hardware::GM || source == Hardware::UB,
                      "positions of EnQue are GM, VECIN, VECOUT, VECCALC");
        // VECIN and VECOUT are UB: GM to UB, UB to GM, or UB to UB.
        return GetQueEvt(source, target, true);
    }

    template <HardEvent event, typename T>
    bool EnQueWith(const LocalTensor<T>& tensor, sim::Site site) {
        TBufType* buffer = Own(tensor, "EnQue", site);
        sim::RequireUse(usedCount < kSlots, "EnQue", "the queue is full: more tensors than its depth", site);
        sim::RequireUse(buffer->state == TBufState::OCCUPIED || buffer->state == TBufState::DEQUE, "EnQue",
                        "the tensor is not allocated from this queue, or is in the queue already", site);
        que_[tail] = buffer;
        tail = (tail + 1) % kSlots;
        ++usedCount;
        buffer->state = TBufState::ENQUE;
        buffer->userEnQueEvt = event;
        buffer->enQueEvtID = GetTPipePtr()->template AllocEventID<event>(site);
        SetFlagOf<event>(buffer->enQueEvtID, true, site);
        return true;
    }

    template <HardEvent event, typename T>
    LocalTensor<T> DeQueWith(sim::Site site) {
        sim::RequireUse(usedCount > 0, "DeQue", "the queue is empty", site);
        TBufType* buffer = que_[head];
        sim::RequireUse(buffer->userEnQueEvt == event, "DeQue", "EnQue and DeQue name different positions", site);
        head = (head + 1) % kSlots;
        --usedCount;
        buffer->state = TBufState::DEQUE;
        WaitFlagOf<event>(buffer->enQueEvtID, true, site);
        GetTPipePtr()->template ReleaseEventID<event>(buffer->enQueEvtID, site);
        buffer->enQueEvtID = INVALID_TEVENTID;
        return ToTensor<T>(buffer);
    }

    template <typename T>
    TBufType* Own(const LocalTensor<T>& tensor, const char* name, sim::Site site) const {
        TBufType* buffer = reinterpret_cast<TBufType*>(tensor.GetBufferHandle());
        sim::RequireUse(buffer >= bufStart && buffer < bufStart + bufNum, name, "the tensor is not of this queue",
                        site);
        return buffer;
    }

    template <typename T>
    LocalTensor<T> ToTensor(TBufType* buffer) const {
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(GetPosition(src, dst));
        address.bufferHandle = reinterpret_cast<TBufHandle>(buffer);
        address.bufferAddr = buffer->address;
        address.dataLen = buffer->dataLen;
        address.bufferBegin = buffer->address;
        address.bufferEnd = buffer->address + buffer->dataLen;
        LocalTensor<T> tensor;
        tensor.SetAddr(address);
        return tensor;
    }

    TBufType* bufStart = nullptr;
    TBufType* que_[kSlots] = {};
    int head = 0;
    int tail = 0;
    int usedCount = 0;
    uint8_t bufNum = 0;
    uint8_t bufCursor = 0;
    uint8_t bufUsedCount = 0;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<GetBufferLogicPos(pos, true), GetBufferLogicPos(pos, false), depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

template <TPosition pos>
class TBuf {
public:
    static constexpr bool isTQue = false;

    template <typename T>
    LocalTensor<T> Get(sim::Site site = sim::Site::Here()) {
        return At<T>(bufLen, 0, "Get", site);
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t len, sim::Site site = sim::Site::Here()) {
        return At<T>(BytesOf<T>(len), 0, "Get", site);
    }
    // `size` in elements, `bufOffset` in bytes.
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset, sim::Site site = sim::Site::Here()) {
        return At<T>(BytesOf<T>(size), bufOffset, "GetWithOffset", site);
    }

    template <typename T>
    void EnQue(const LocalTensor<T>&) {}
    template <typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return Get<T>(site);
    }
    template <typename T>
    LocalTensor<T> AllocTensor(sim::Site site = sim::Site::Here()) {
        return Get<T>(site);
    }
    template <typename T>
    void FreeTensor(LocalTensor<T>&) {}
    uint32_t GetBufLen() const { return bufLen; }

private:
    friend class TPipe;

    template <typename T>
    LocalTensor<T> At(uint64_t bytes, uint32_t offset, const char* name, sim::Site site) {
        sim::RequireUse(bufStart != nullptr, name, "the TBuf has no buffer: InitBuffer is missing", site);
        sim::RequireUse(offset + bytes <= bufLen, name, "more elements than the TBuf holds", site);
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(pos);
        address.bufferHandle = reinterpret_cast<TBufHandle>(bufStart);
        address.bufferAddr = bufStart->address + offset;
        address.dataLen = static_cast<uint32_t>(bytes);
        address.bufferBegin = bufStart->address;
        address.bufferEnd = bufStart->address + bufLen;
        LocalTensor<T> tensor;
        tensor.SetAddr(address);
        return tensor;
    }

    TBufType* bufStart = nullptr;
    uint32_t bufLen = 0;
};

}  // namespace AscendC
