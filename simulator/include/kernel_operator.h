// SPDX-License-Identifier: Apache-2.0
// Ascend C for CPUs: the header that device code includes, for the architecture of Atlas A2 and A3 (2201). Signatures
// are those of the CANN headers; what a call means is in the machine library, so this header only marshals.
#pragma once

#include "ascendc/absent.h"
#include "ascendc/atomic.h"
#include "ascendc/constants.h"
#include "ascendc/cube.h"
#include "ascendc/data_copy.h"
#include "ascendc/data_copy_layout.h"
#include "ascendc/debug.h"
#include "ascendc/fixpipe.h"
#include "ascendc/list_tensor.h"
#include "ascendc/memory_sync.h"
#include "ascendc/resource.h"
#include "ascendc/scalar.h"
#include "ascendc/sync.h"
#include "ascendc/system.h"
#include "ascendc/system_macros.h"
#include "ascendc/tensor.h"
#include "ascendc/utilities.h"
#include "ascendc/vector.h"
