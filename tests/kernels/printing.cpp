// SPDX-License-Identifier: Apache-2.0
// printf as kernels call it: qualified and not, with the C library's declaration in sight. One case per `which`.
#include <cstdio>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

void Conversions() {
    const half quarter = 0.25F;
    const bfloat16_t three = 3.0F;
    printf("%d %i %ld %lld %hhd\n", -1, int8_t(-2), int64_t(-3), int64_t(1) << 40, int16_t(-4));
    printf("%u %lu %llu\n", uint8_t(200), uint64_t(1) << 63, 7U);
    printf("%f %F %.2f\n", quarter, three, 1.5F);
    printf("%x %lx|%5d|%-5d|%05d|%+d\n", 0x123, int64_t(-1), 42, 42, 42, 42);
    printf("%s %c 100%%\n", "text", 'x');
    printf("%d %u\n", true, HardEvent::V_MTE3);
    AscendC::printf("%p\n", reinterpret_cast<void*>(0x40));
    AscendC::PRINTF("%d\n", 5);
    std::printf("no argument\n");
}

void Mismatches() {
    printf("%d and %d\n", 1);
    printf("%d\n", 1, 2);
    printf("%s\n", 3);
    printf("%q\n", 3);
    printf("%*d|%100000d|%", 4, 7, 8);
}

}  // namespace

extern "C" __global__ __aicore__ void printing(int64_t which) {
    switch (which) {
        case 0:
            printf("kernel says %d of %s\n", int(which) + 42, "block");
            break;
        case 1:
            Conversions();
            break;
        case 2:
            Mismatches();
            break;
        case 3:
            for (int i = 0; i < 40000; ++i) {
                AscendC::printf("line %d of a loop that never stops to talk\n", i);
            }
            break;
        case 4: {
            char text[31 * 1024];
            for (char& letter : text) {
                letter = 'a';
            }
            text[sizeof text - 1] = '\0';
            printf("%s", text);
            break;
        }
        case 10:
            while (true) {
                printf("again\n");
            }
        default:
            break;
    }
}
