// SPDX-License-Identifier: Apache-2.0
// 9.x: the public name of the header with printf.
#pragma once

#include "ascendc/debug.h"
