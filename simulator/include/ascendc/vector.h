// SPDX-License-Identifier: Apache-2.0
// Every vector call of Ascend C that the machine knows.
#pragma once

#include "ascendc/vector_absent.h"
#include "ascendc/vector_binary.h"
#include "ascendc/vector_binary_cast.h"
#include "ascendc/vector_cast.h"
#include "ascendc/vector_compare.h"
#include "ascendc/vector_fill.h"
#include "ascendc/vector_gather.h"
#include "ascendc/vector_library.h"
#include "ascendc/vector_mask.h"
#include "ascendc/vector_operators.h"
#include "ascendc/vector_reduce.h"
#include "ascendc/vector_sort.h"
#include "ascendc/vector_transpose.h"
#include "ascendc/vector_unary.h"
