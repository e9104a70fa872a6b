/* Headwise: multi-head attention on CPUs, every head in sight. Includes the whole library. */
#ifndef HEADWISE_H
#define HEADWISE_H

#include "attention.h"
#include "cache.h"
#include "common.h"
#include "context.h"
#include "heads.h"
#include "isa.h"
#include "linear.h"
#include "mha.h"
#include "pool.h"
#include "positions.h"
#include "probe.h"
#include "rows.h"
#include "tensor.h"

#endif
