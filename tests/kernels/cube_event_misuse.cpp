// SPDX-License-Identifier: Apache-2.0
// Which event pairs a cube core has; 0 uses all of them, the other values what is misuse or undocumented there.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <HardEvent event>
void RoundTrip() {
    SetFlag<event>(3);
    WaitFlag<event>(3);
}

}  // namespace

extern "C" __global__ __aicore__ void cube_event_misuse(int64_t which) {
    switch (which) {
        case 0:
            RoundTrip<HardEvent::M_MTE1>();
            RoundTrip<HardEvent::M_MTE2>();
            RoundTrip<HardEvent::M_FIX>();
            RoundTrip<HardEvent::MTE1_M>();
            RoundTrip<HardEvent::MTE1_MTE2>();
            RoundTrip<HardEvent::MTE1_MTE3>();
            RoundTrip<HardEvent::MTE1_FIX>();
            RoundTrip<HardEvent::MTE2_M>();
            RoundTrip<HardEvent::MTE2_MTE1>();
            RoundTrip<HardEvent::MTE2_MTE3>();
            RoundTrip<HardEvent::MTE2_FIX>();
            RoundTrip<HardEvent::MTE3_MTE1>();
            RoundTrip<HardEvent::MTE3_MTE2>();
            RoundTrip<HardEvent::FIX_M>();
            RoundTrip<HardEvent::FIX_MTE1>();
            RoundTrip<HardEvent::FIX_MTE2>();
            // Dropped on a cube core, as on the device.
            SetFlag<HardEvent::MTE2_V>(0);
            SetFlag<HardEvent::MTE2_V>(0);
            break;
        case 1:
            RoundTrip<HardEvent::MTE2_S>();
            RoundTrip<HardEvent::MTE3_S>();
            RoundTrip<HardEvent::M_S>();
            RoundTrip<HardEvent::FIX_S>();
            RoundTrip<HardEvent::S_MTE2>();
            RoundTrip<HardEvent::S_MTE3>();
            break;
        case 2:
            RoundTrip<HardEvent::M_V>();
            break;
        case 3: {
            TPipe pipe;
            SetFlag<HardEvent::M_MTE1>(0);  // TPipe has set it for high-level Matmul
            WaitFlag<HardEvent::M_MTE1>(0);
            SetFlag<HardEvent::M_MTE1>(0);
            break;
        }
        case 4: {
            TPipe pipe;
            SetFlag<HardEvent::M_MTE1>(3);
            WaitFlag<HardEvent::M_MTE1>(3);
            break;
        }
        default:
            break;
    }
}
