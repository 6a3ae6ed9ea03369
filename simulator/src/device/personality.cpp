// SPDX-License-Identifier: Apache-2.0
// Linked into the libraries of device code that CMake builds; ascend_attention.sim includes the same header in the file
// that it generates.
#include "machine/personality.h"
