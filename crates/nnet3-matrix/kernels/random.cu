// Random numbers by counting, the same as on the CPU: element (i, j) is a hash (splitmix64; Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, 2014) of the key and i * cols + j.

// 2^64 divided by the golden ratio.
#define STEP 0x9e3779b97f4a7c15ULL

__device__ inline u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

__device__ inline u64 bits_at(Mat m, u64 key, i32 r, i32 c) {
    u64 start = mix(key + STEP) + STEP;
    return mix(start + ((u64)r * (u64)m.cols + (u64)c) * STEP);
}

// (top 23 bits + 1/2) / 2^23.
KERNEL fill_uniform(Mat dst, u64 key) {
    FOR_EACH(dst, r, c) {
        u32 top = (u32)(bits_at(dst, key, r, c) >> 41);
        put(dst, r, c, ((float)top + 0.5f) * (1.0f / 8388608.0f));
    }
}

// Box and Muller's cosine branch: radius from the top 31 bits, angle from the low 32.
KERNEL fill_normal(Mat dst, u64 key) {
    FOR_EACH(dst, r, c) {
        u64 bits = bits_at(dst, key, r, c);
        float u = ((float)(i32)(bits >> 33) + 0.5f) * (1.0f / 2147483648.0f);
        float radius = sqrtf(-2.0f * logf(u));
        // cos(2 pi v) for v in [-1/2, 1/2] is sin(2 pi (1/4 - |v|)).
        float v = (float)(i32)(u32)bits * (1.0f / 4294967296.0f);
        put(dst, r, c, radius * sinf((0.25f - fabsf(v)) * 6.2831853071795865f));
    }
}
