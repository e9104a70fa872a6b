/* The version of the headers, and of the library that is loaded. */
#ifndef HEADWISE_VERSION_H
#define HEADWISE_VERSION_H

#include "common.h"

#define HEADWISE_VERSION_MAJOR 0
#define HEADWISE_VERSION_MINOR 1
#define HEADWISE_VERSION_PATCH 0
#define HEADWISE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* HEADWISE_VERSION of the library at run time. Static storage. */
HEADWISE_API const char *headwise_version(void);

#ifdef __cplusplus
}
#endif
#endif
