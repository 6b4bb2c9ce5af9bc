// SPDX-License-Identifier: MIT
#include "test.h"

#include "hew_api.h"
