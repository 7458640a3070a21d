// What the kernels' program tells the detector of races (races.cc): who runs. Does nothing in the plain program.
#ifdef TWIN_RACES
extern "C" {
// A kernel begins. `now` says who runs, and is thread-local, as shared arrays are; `stacks` is the memory of stacks of threads that
// work together, `frame` where the stack of the others begins.
void races_begin(const char* kernel, const void* now, size_t now_bytes, const void* stacks, size_t stack_bytes,
                 const void* frame);
// Threads go on from a barrier, or start.
void races_interval();
// From here on accesses are of this thread of this block.
void races_thread(int block, int thread);
// From here on they are of no thread.
void races_pause();
void races_end();
// Whether races are counted, from 0 on, instead of stopping the program; and how many there were.
void races_count(int counts);
int races_found();
}
#else
static inline void races_begin(const char*, const void*, size_t, const void*, size_t, const void*) {}
static inline void races_interval() {}
static inline void races_thread(int, int) {}
static inline void races_pause() {}
static inline void races_end() {}
#endif
