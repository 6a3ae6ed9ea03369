// SPDX-License-Identifier: Apache-2.0
// TBuf, and queues with their hidden events.
#pragma once

#include <cstdint>

#include "ascendc/resource_pipe.h"

namespace AscendC {

// What the last template argument of a queue may point to instead of being a bit mask. The flags choose the device's
// events and code; what a queue does is the same.
struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};

template <TPosition pos, uint32_t bufIDSize>
class TBufPool;

// Depth 0: one buffer at a time that stays in the kernel's own tensor, with two events that it keeps.
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
        static_assert(depth != 0, "a queue of depth 0 fills a tensor of the kernel: AllocTensor(tensor)");
        return ToTensor<T>(AllocBuffer(site));
    }
    template <typename T>
    void AllocTensor(LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        static_assert(depth == 0, "AllocTensor(tensor) is for queues of depth 0");
        tensor = ToTensor<T>(AllocBuffer(site));
    }

private:
    TBufType* AllocBuffer(sim::Site site) {
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
            if constexpr (depth != 0) {
                Release<freeBufEvt>(found->freeBufEvtID, site);
            }
        }
        ++bufUsedCount;
        return found;
    }

public:
    template <typename T>
    void FreeTensor(LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        FreeBuffer(tensor.GetBufferHandle(), site);
    }
    void FreeBuffer(TBufHandle buf, sim::Site site = sim::Site::Here()) {
        TBufType* buffer = Own(buf, "FreeTensor", site);
        sim::RequireUse(buffer->state != TBufState::FREE, "FreeTensor", "the tensor's buffer is free already", site);
        if constexpr (depth != 0) {
            buffer->freeBufEvtID = Reserve<freeBufEvt>(site);
        }
        SetFlagOf<freeBufEvt>(buffer->freeBufEvtID, true, site);
        buffer->state = TBufState::FREE;
        --bufUsedCount;
    }

    template <typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        return EnQueWith<enQueEvt>(tensor.GetBufferHandle(), site);
    }
    bool EnQue(TBufHandle buf, sim::Site site = sim::Site::Here()) { return EnQueWith<enQueEvt>(buf, site); }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        static_assert(depth != 0, "a queue of depth 0 has one event of its own");
        return EnQueWith<UserEvent<srcUserPos, dstUserPos>()>(tensor.GetBufferHandle(), site);
    }

    template <typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        static_assert(depth != 0, "a queue of depth 0 takes the kernel's tensor: DeQue(tensor)");
        return ToTensor<T>(DeQueWith<enQueEvt>(site));
    }
    TBufHandle DeQue(sim::Site site = sim::Site::Here()) {
        return reinterpret_cast<TBufHandle>(DeQueWith<enQueEvt>(site));
    }
    template <typename T>
    void DeQue(LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        static_assert(depth == 0, "DeQue(tensor) is for queues of depth 0");
        TBufType* buffer = Own(tensor.GetBufferHandle(), "DeQue", site);
        sim::RequireUse(buffer->state == TBufState::ENQUE, "DeQue", "the tensor is not in the queue", site);
        buffer->state = TBufState::DEQUE;
        WaitFlagOf<enQueEvt>(buffer->enQueEvtID, true, site);
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return ToTensor<T>(DeQueWith<UserEvent<srcUserPos, dstUserPos>()>(site));
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
                Release<freeBufEvt>(buffer.freeBufEvtID, site);
            }
        }
    }
    TBuffAddr GetBufferAddr(TBufHandle buf, sim::Site site = sim::Site::Here()) const {
        return ToAddress(Own(buf, "GetBufferAddr", site));
    }

    // For pools of the kernel's own: the first of `num` buffers, then each buffer's place.
    void InitStartBufHandle(TBufHandle startBufhandle, uint8_t num, uint32_t, sim::Site site = sim::Site::Here()) {
        sim::RequireUse(startBufhandle != nullptr && num > 0, "InitStartBufHandle", "a queue needs a buffer", site);
        Attach(reinterpret_cast<TBufType*>(startBufhandle), num, site);
    }
    template <typename T>
    void InitBufHandle(T*, uint32_t, TBufHandle bufhandle, uint32_t curPoolAddr, uint32_t len,
                       sim::Site site = sim::Site::Here()) {
        sim::RequireUse(len > 0, "InitBufHandle", "a buffer needs at least one byte", site);
        TBufType* buffer = Own(bufhandle, "InitBufHandle", site);
        *buffer = TBufType{};
        buffer->freeBufEvt = freeBufEvt;
        buffer->address = curPoolAddr;
        buffer->dataLen = detail::RoundUp(len);
    }

protected:
    friend class TPipe;
    template <TPosition pos, uint32_t bufIDSize>
    friend class TBufPool;

    // Called by TPipe and pools with buffers that are laid out.
    void Attach(TBufType* first, uint8_t num, sim::Site site) {
        bufStart = first;
        bufNum = num;
        bufCursor = 0;
        bufUsedCount = 0;
        usedCount = 0;
        head = 0;
        tail = 0;
        if constexpr (depth == 0) {
            for (int i = 0; i < num; ++i) {
                first[i].userEnQueEvt = enQueEvt;
                first[i].enQueEvtID = Reserve<enQueEvt>(site);
                first[i].freeBufEvtID = Reserve<freeBufEvt>(site);
                SetFlagOf<freeBufEvt>(first[i].freeBufEvtID, true, site);
            }
        }
    }

    template <HardEvent event>
    static TEventID Reserve(sim::Site site) {
        return static_cast<TEventID>(sim::AllocEvent(PipesOf(event).source, PipesOf(event).target, site));
    }
    template <HardEvent event>
    static void Release(TEventID& id, sim::Site site) {
        sim::ReleaseEvent(PipesOf(event).source, PipesOf(event).target, id, site);
        id = INVALID_TEVENTID;
    }

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

    template <HardEvent event>
    bool EnQueWith(TBufHandle buf, sim::Site site) {
        TBufType* buffer = Own(buf, "EnQue", site);
        sim::RequireUse(depth == 0 || usedCount < kSlots, "EnQue", "the queue is full: more tensors than its depth",
                        site);
        sim::RequireUse(buffer->state == TBufState::OCCUPIED || buffer->state == TBufState::DEQUE, "EnQue",
                        "the tensor is not allocated from this queue, or is in the queue already", site);
        if constexpr (depth != 0) {
            que_[tail] = buffer;
            tail = (tail + 1) % kSlots;
            ++usedCount;
            buffer->enQueEvtID = Reserve<event>(site);
        }
        buffer->state = TBufState::ENQUE;
        buffer->userEnQueEvt = event;
        SetFlagOf<event>(buffer->enQueEvtID, true, site);
        return true;
    }

    template <HardEvent event>
    TBufType* DeQueWith(sim::Site site) {
        sim::RequireUse(usedCount > 0, "DeQue", "the queue is empty", site);
        TBufType* buffer = que_[head];
        sim::RequireUse(buffer->userEnQueEvt == event, "DeQue", "EnQue and DeQue name different positions", site);
        head = (head + 1) % kSlots;
        --usedCount;
        buffer->state = TBufState::DEQUE;
        WaitFlagOf<event>(buffer->enQueEvtID, true, site);
        Release<event>(buffer->enQueEvtID, site);
        return buffer;
    }

    TBufType* Own(TBufHandle buf, const char* name, sim::Site site) const {
        TBufType* buffer = reinterpret_cast<TBufType*>(buf);
        sim::RequireUse(buffer >= bufStart && buffer < bufStart + bufNum, name, "the tensor is not of this queue",
                        site);
        return buffer;
    }

    TBuffAddr ToAddress(TBufType* buffer) const {
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(GetPosition(src, dst));
        address.bufferHandle = reinterpret_cast<TBufHandle>(buffer);
        address.bufferAddr = buffer->address;
        address.dataLen = buffer->dataLen;
        address.bufferBegin = buffer->address;
        address.bufferEnd = buffer->address + buffer->dataLen;
        return address;
    }
    template <typename T>
    LocalTensor<T> ToTensor(TBufType* buffer) const {
        LocalTensor<T> tensor;
        tensor.SetAddr(ToAddress(buffer));
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

    // For pools of the kernel's own.
    void InitStartBufHandle(TBufHandle startBufhandle, uint8_t num, uint32_t len, sim::Site site = sim::Site::Here()) {
        sim::RequireUse(startBufhandle != nullptr && num == 1, "InitStartBufHandle", "a TBuf has one buffer", site);
        bufStart = reinterpret_cast<TBufType*>(startBufhandle);
        bufLen = detail::RoundUp(len);
    }
    template <typename T>
    void InitBufHandle(T*, uint32_t, TBufHandle bufhandle, uint32_t curPoolAddr, uint32_t len,
                       sim::Site site = sim::Site::Here()) {
        sim::RequireUse(len > 0 && reinterpret_cast<TBufType*>(bufhandle) == bufStart, "InitBufHandle",
                        "the buffer is not that of InitStartBufHandle, or empty", site);
        *bufStart = TBufType{};
        bufStart->address = curPoolAddr;
        bufStart->dataLen = detail::RoundUp(len);
    }

private:
    friend class TPipe;
    template <TPosition bufPos, uint32_t bufIDSize>
    friend class TBufPool;

    void Attach(TBufType* buffer) {
        bufStart = buffer;
        bufLen = buffer->dataLen;
    }

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
