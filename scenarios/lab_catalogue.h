/* Scenarios and settings, for the pages of the desk (catalogue.h). */
#pragma once

#include "harness/text/catalogue.h"

extern const struct catalogue lab_catalogue;
