/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_BENCH_H
#define SL_APP_BENCH_H

/* The benchmarks of `sluice bench`; arguments and result as those of a subcommand. */

int sl_bench_writer(int argc, char **argv);
int sl_bench_appliance(int argc, char **argv);

#endif
