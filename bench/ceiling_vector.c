/* Compiled once for each vector tier, with the tier's flags and its vec.h. */
#include "vec.h"

#include "ceiling_body.h"
