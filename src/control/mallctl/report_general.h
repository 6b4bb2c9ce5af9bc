/* SPDX-License-Identifier: MIT */
/*
 * report_general: the part of a statistics report about the library and its settings.
 *
 * Build options and the number of arenas come from the rows of ctl_names.def, settings from options.def.
 */
#ifndef HEW_CONTROL_MALLCTL_REPORT_GENERAL_H
#define HEW_CONTROL_MALLCTL_REPORT_GENERAL_H

#include "stats/report.h"

void hew_report_general(struct hew_report *report);

#endif
