// SPDX-License-Identifier: Apache-2.0
// Rules that no operator's document has: what this package wants of a call as such. docs/checks.md lists them.
#pragma once

namespace ascend_attention::own_rule {

constexpr const char* kSoc = "SOC";              // a processor that is known
constexpr const char* kNotYet = "NOT-YET";       // legal by the document, not built yet
constexpr const char* kTensor = "TENSOR";        // tensors that the host can read: dense, one device, plain formats
constexpr const char* kLengths = "LENGTHS";      // lengths: one axis, integers that the host can read
constexpr const char* kMemory = "MEMORY";        // memory for all elements, aligned; none written and read at once
constexpr const char* kWorkspace = "WORKSPACE";  // size and place of a workspace that the caller brings
constexpr const char* kMode = "MODE";
constexpr const char* kCosts = "COSTS";
constexpr const char* kContract = "CONTRACT";
// Of the C interface alone.
constexpr const char* kHandle = "HANDLE";  // handles and places that must be given, live and of the right kind
constexpr const char* kDevice = "DEVICE";  // a device that the calling thread has set

}  // namespace ascend_attention::own_rule
