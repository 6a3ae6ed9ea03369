// SPDX-License-Identifier: Apache-2.0
// One misuse of in-core events per `which`; 0 is the correct twin.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void event_misuse(int64_t which) {
    switch (which) {
        case 0:
            for (int32_t id = 0; id < 6; ++id) {
                SetFlag<HardEvent::MTE2_V>(id);
                SetFlag<HardEvent::V_MTE2>(id);
            }
            for (int32_t id = 0; id < 6; ++id) {
                WaitFlag<HardEvent::V_MTE2>(id);
                WaitFlag<HardEvent::MTE2_V>(id);
            }
            break;
        case 1:
            SetFlag<HardEvent::MTE2_V>(3);
            SetFlag<HardEvent::MTE2_V>(3);
            WaitFlag<HardEvent::MTE2_V>(3);
            break;
        case 2:
            SetFlag<HardEvent::V_MTE3>(2);
            break;
        case 3:
            WaitFlag<HardEvent::MTE3_V>(1);
            SetFlag<HardEvent::MTE3_V>(1);
            break;
        case 4:
            SetFlag<HardEvent::MTE2_V>(8);
            break;
        case 5:
            SetFlag<HardEvent::MTE2_V>(7);
            WaitFlag<HardEvent::MTE2_V>(7);
            break;
        case 6:
            SetFlag<HardEvent::MTE2_M>(0);
            WaitFlag<HardEvent::MTE2_M>(0);
            break;
        case 7: {
            TPipe pipe;
            for (int i = 0; i < 9; ++i) {
                pipe.AllocEventID<HardEvent::MTE2_V>();
            }
            break;
        }
        case 8:
            PipeBarrier<PIPE_M>();
            break;
        case 9:  // the scalar unit itself waits, so it can never come to the set
            WaitFlag<HardEvent::V_S>(1);
            SetFlag<HardEvent::V_S>(1);
            break;
        case 10:  // dropped: neither set twice nor left over
            SetFlag<HardEvent::MTE1_M>(0);
            SetFlag<HardEvent::MTE1_M>(0);
            WaitFlag<HardEvent::FIX_M>(0);
            break;
        default:
            break;
    }
}
