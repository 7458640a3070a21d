// Element-wise functions without a derivative of their own, one kernel each so that no element pays for a choice.

#define MAP(name, expression)                                           \
    __device__ inline float name##_of(float x) { return (expression); } \
    KERNEL name(Mat dst, Mat src) {                                     \
        FILL_FROM(dst, r, c, x, at(src, r, c), name##_of(x))            \
    }

// With parameters a and b.
#define MAP_WITH(name, expression)                                                                       \
    __device__ inline float name##_of(float x, [[maybe_unused]] float a, [[maybe_unused]] float b) {     \
        return (expression);                                                                             \
    }                                                                                                    \
    KERNEL name(Mat dst, Mat src, float a, float b) {                                                    \
        FILL_FROM(dst, r, c, x, at(src, r, c), name##_of(x, a, b))                                       \
    }

MAP(map_exp, expf(x))
MAP(map_heaviside, x > 0.0f ? 1.0f : 0.0f)
MAP(map_abs, fabsf(x))
MAP(map_sign, x > 0.0f ? 1.0f : -1.0f)
MAP(map_square, x * x)
MAP(map_square_root, sqrtf(x))
MAP(map_inverse_square_root, (float)(1.0 / sqrt((double)x)))
MAP(map_inverse, 1.0f / x)

MAP_WITH(map_log, logf(x < a ? a : x))
MAP_WITH(map_power, powf(x, a))
MAP_WITH(map_floor, x < a ? a : x)
MAP_WITH(map_ceiling, x > a ? a : x)
MAP_WITH(map_affine, a * x + b)
MAP_WITH(map_away_from_zero, fabsf(x) < a ? (x >= 0.0f ? a : -a) : x)
