// Number k of n, from the front or from the back.
static unsigned int turn(unsigned int k, unsigned int n, int backwards) {
    return backwards ? n - 1 - k : k;
}

// The entry from Rust: runs a kernel by name. `backwards` takes blocks and threads in the opposite order.
extern "C" int twin_run(const char* name, const char* signature, const unsigned int* grid, const unsigned int* block,
                        void** args, int backwards, const char** expected) {
    for (const Kernel& kernel : KERNELS) {
        if (strcmp(kernel.name, name) != 0) continue;
        *expected = kernel.signature;
        if (strcmp(kernel.signature, signature) != 0) return 2;
        if (block[0] * block[1] > 1024 || block[0] == 0 || block[1] == 0 || grid[1] > 65535) return 3;
        running_kernel = kernel.name;
        gridDim = Dim{grid[0], grid[1], 1};
        blockDim = Dim{block[0], block[1], 1};
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
                kernel.call(args);
            }
        }
        return 0;
    }
    return 1;
}

// Name and signature of kernel number `k`; 0 past the last.
extern "C" int twin_kernel(unsigned int k, const char** name, const char** signature) {
    if (k >= sizeof(KERNELS) / sizeof(KERNELS[0])) return 0;
    *name = KERNELS[k].name;
    *signature = KERNELS[k].signature;
    return 1;
}
