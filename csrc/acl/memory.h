// SPDX-License-Identifier: Apache-2.0
// Device memory of the simulated machine: host memory that knows that it is not. And the host memory that the runtime
// gives out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ascend_attention::acl {

struct Allocation;
// Keeps a piece of device memory in being, although its owner may have freed it.
using Pin = std::shared_ptr<const Allocation>;

// Throws Failure where there is no memory.
void* AllocateDeviceMemory(std::size_t bytes);
// Returns whether there was such memory.
bool FreeDeviceMemory(void* address);
// What a lost program left behind.
void FreeAllDeviceMemory();
// Of device and host memory.
std::size_t CountAllocations();

// The allocation that holds all `bytes` at `address`; null when there is none.
Pin FindDeviceMemory(const void* address, std::uint64_t bytes);
// Why FindDeviceMemory found nothing: "16 bytes at 0x…, which is no device memory".
std::string DescribeMissing(const void* address, std::uint64_t bytes);
bool IsDeviceMemory(const void* address);

// As for the device.
void* AllocateHostMemory(std::size_t bytes);
bool FreeHostMemory(void* address);

}  // namespace ascend_attention::acl
