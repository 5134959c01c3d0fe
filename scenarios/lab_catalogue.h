/* Scenarios and settings, for the pages of the desk (catalogue.h). */
#ifndef SCENARIOS_LAB_CATALOGUE_H
#define SCENARIOS_LAB_CATALOGUE_H

#include "harness/text/catalogue.h"

extern const struct catalogue lab_catalogue;

#endif
