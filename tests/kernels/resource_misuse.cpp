// SPDX-License-Identifier: Apache-2.0
// One misuse of TPipe, its queues or the allocator of 9.x per `which`; 0 uses them as they are meant.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

using Queue = TQue<TPosition::VECIN, 1>;

void MisusePipe(TPipe& pipe, int64_t which) {
    Queue queue;
    TBuf<> buffer;
    switch (which) {
        case 1:
            pipe.InitBuffer(queue, 0, 64);
            break;
        case 2:
            pipe.InitBuffer(buffer, 0);
            break;
        case 3: {
            TBuf<TPosition::GM> global;
            pipe.InitBuffer(global, 64);
            break;
        }
        case 4:
            pipe.InitBuffer(queue, 65, 32);
            break;
        case 5:
            pipe.ReleaseEventID<HardEvent::MTE2_V>(8);
            break;
        case 6:
            (void)buffer.Get<float>();
            break;
        default: {
            LocalMemAllocator<Hardware::UB> memory;
            (void)memory.Alloc<float>(which == 0 ? 64 : 64 * 1024);
            break;
        }
    }
}

void MisuseLifetime(TPipe& pipe, int64_t which) {
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<float> tensor = buffer.Get<float>();
    LocalTensor<float> unset;
    switch (which) {
        case 21: {
            TPipe second;
            break;
        }
        case 22:
            pipe.ReleaseEventID<HardEvent::MTE2_V>(pipe.FetchEventID<HardEvent::MTE2_V>());
            break;
        case 23:
            Duplicate(tensor, 1.0F, 64);
            PipeBarrier<PIPE_V>();
            Add(tensor, tensor, unset, 64);
            break;
        case 24:
            unset.SetValue(0, 1.0F);
            break;
        case 25:
            DumpTensor(unset, 0, 8);
            break;
        default: {
            unset = tensor;
            Duplicate(unset, 1.0F, 64);
            pipe.ReleaseEventID<HardEvent::MTE2_V>(pipe.AllocEventID<HardEvent::MTE2_V>());
            pipe.Destroy();
            TPipe second;
            break;
        }
    }
}

void MisuseQueue(TPipe& pipe, int64_t which) {
    Queue queue;
    if (which == 11) {
        (void)queue.AllocTensor<float>();
        return;
    }
    pipe.InitBuffer(queue, 2, 64);
    LocalTensor<float> tensor = queue.AllocTensor<float>();
    switch (which) {
        case 12:
            queue.FreeTensor(tensor);
            queue.FreeTensor(tensor);
            break;
        case 13: {  // depth 1 with two buffers: the second has no place
            LocalTensor<float> second = queue.AllocTensor<float>();
            queue.EnQue(tensor);
            queue.EnQue(second);
            break;
        }
        case 14:
            (void)queue.DeQue<float>();
            break;
        case 15:
            queue.EnQue<TPosition::GM, TPosition::VECIN>(tensor);
            (void)queue.DeQue<TPosition::VECOUT, TPosition::GM, float>();
            break;
        default:
            queue.EnQue(tensor);
            tensor = queue.DeQue<float>();
            queue.FreeTensor(tensor);
            break;
    }
}

}  // namespace

extern "C" __global__ __aicore__ void resource_misuse(int64_t which) {
    TPipe pipe;
    if (which < 10) {
        MisusePipe(pipe, which);
    } else if (which >= 20) {
        MisuseLifetime(pipe, which);
    } else {
        MisuseQueue(pipe, which);
    }
}
