// SPDX-License-Identifier: Apache-2.0
// Marks what libascend_attention.so offers to the doors that link to it (_core, _torch_ops).
#pragma once

#define ASCEND_ATTENTION_API __attribute__((visibility("default")))
