// Number k of n, from the front or from the back.
static unsigned int turn(unsigned int k, unsigned int n, int backwards) {
    return backwards ? n - 1 - k : k;
}

UNSEEN static void run_kernel(const Kernel& kernel, const unsigned int* grid, const unsigned int* block, void** args,
                              int backwards) {
    now.kernel = kernel.name;
    gridDim = Dim{grid[0], grid[1], 1};
    blockDim = Dim{block[0], block[1], 1};
    make_team();
    races_begin(kernel.name, &now, sizeof(now), now.team->stacks, MOST_THREADS * STACK,
                __builtin_frame_address(0));
    for (unsigned int b = 0; b < grid[0] * grid[1]; b++) {
        unsigned int place = turn(b, grid[0] * grid[1], backwards);
        blockIdx = Dim{place % grid[0], place / grid[0], 0};
        if (kernel.together) {
            run_together(kernel.call, args, backwards);
            continue;
        }
        for (unsigned int k = 0; k < block[0] * block[1]; k++) {
            unsigned int thread = turn(k, block[0] * block[1], backwards);
            threadIdx = Dim{thread % block[0], thread / block[0], 0};
            races_thread(place, thread);
            kernel.call(args);
            races_pause();
        }
    }
    races_end();
}

// The entry from Rust: runs a kernel by name. `backwards` takes blocks and threads in the opposite order.
extern "C" int TWIN_RUN(const char* name, const char* signature, const unsigned int* grid, const unsigned int* block,
                        void** args, int backwards, const char** expected) {
    for (const Kernel& kernel : KERNELS) {
        if (strcmp(kernel.name, name) != 0) continue;
        *expected = kernel.signature;
        if (strcmp(kernel.signature, signature) != 0) return 2;
        if (block[0] * block[1] > 1024 || block[0] == 0 || block[1] == 0 || grid[1] > 65535) return 3;
        run_kernel(kernel, grid, block, args, backwards);
        return 0;
    }
    return 1;
}

#ifdef TWIN_RACES
#include "faulty.h"
#else
// Name and signature of kernel number `k`; 0 past the last.
extern "C" int twin_kernel(unsigned int k, const char** name, const char** signature) {
    if (k >= sizeof(KERNELS) / sizeof(KERNELS[0])) return 0;
    *name = KERNELS[k].name;
    *signature = KERNELS[k].signature;
    return 1;
}
#endif
