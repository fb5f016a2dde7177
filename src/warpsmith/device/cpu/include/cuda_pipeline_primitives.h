// Part of the pipeline header.
#pragma once

#include "cuda_pipeline.h"
