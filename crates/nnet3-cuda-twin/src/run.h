// The entry from Rust: runs a kernel by name.
extern "C" int twin_run(const char* name, const char* signature, const unsigned int* grid, const unsigned int* block,
                        void** args, const char** expected) {
    for (const Kernel& kernel : KERNELS) {
        if (strcmp(kernel.name, name) != 0) continue;
        *expected = kernel.signature;
        if (strcmp(kernel.signature, signature) != 0) return 2;
        if (block[0] * block[1] > 1024 || block[0] == 0 || block[1] == 0 || grid[1] > 65535) return 3;
        running_kernel = kernel.name;
        gridDim = Dim{grid[0], grid[1], 1};
        blockDim = Dim{block[0], block[1], 1};
        for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++) {
            for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++) {
                if (kernel.together) {
                    run_together(kernel.call, args);
                    continue;
                }
                for (threadIdx.y = 0; threadIdx.y < block[1]; threadIdx.y++) {
                    for (threadIdx.x = 0; threadIdx.x < block[0]; threadIdx.x++) kernel.call(args);
                }
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
