// The header by which a sketch finds the TFLM library.
#pragma once
