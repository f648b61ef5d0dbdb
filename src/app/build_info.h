/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_BUILD_INFO_H
#define SL_APP_BUILD_INFO_H

#include <stdio.h>

/* "0.1.0" */
const char *sl_build_version(void);

/* Version, compiler, build type and what is built in, a line each. */
void sl_build_info_print(FILE *to);

#endif
