// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel as the program sees it. Its structures are declared with the members
// that are read and no others; their places are found in the running kernel's BTF
// when the program is loaded.

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define KSYM __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))
// The verifier checks such functions for themselves, and not on every way that
// leads to them, which takes it less time.
#define NOT_INLINE __attribute__((noinline))

// What the build reads of a map's definition.
struct map {
	u32 type, value_size, flags;
};
#define MAP struct map SEC(".maps")

#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)
#define KERNEL_TYPE_ID(type) __builtin_btf_type_id(*(type *)0, 1)

enum { MAP_TYPE_ARRAY = 2, MAP_TYPE_PERCPU_ARRAY = 6, FLAG_MMAPABLE = 1 << 10 };
enum { ALL_PROCESSES = 0, THREADS_OF_PROCESS = 2 };

// Kernel structures. Anonymous ones there are anonymous here.

struct task_io_accounting {
	u64 rchar, wchar, syscr, syscw;
	u64 read_bytes, write_bytes, cancelled_write_bytes;
} KERNEL;

struct prev_cputime {
	u64 utime, stime;
} KERNEL;

struct seqcount {
	u32 sequence;
} KERNEL;
typedef struct seqcount seqcount_t;

struct seqcount_spinlock {
	seqcount_t seqcount;
} KERNEL;
typedef struct seqcount_spinlock seqcount_spinlock_t;

typedef struct {
	seqcount_spinlock_t seqcount;
} KERNEL seqlock_t;

struct signal_struct {
	int nr_threads;
	seqlock_t stats_lock;
	u64 utime, stime;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
} KERNEL;

struct percpu_counter {
	s64 count;
	s32 *counters;
} KERNEL;

struct mm_struct {
	unsigned long hiwater_rss, hiwater_vm, total_vm, data_vm, stack_vm;
	struct percpu_counter rss_stat[4];
} KERNEL;
enum { MM_FILEPAGES = 0, MM_ANONPAGES = 1, MM_SWAPENTS = 2, MM_SHMEMPAGES = 3 };

struct fdtable {
	u32 max_fds;
	unsigned long *open_fds;
} KERNEL;

struct files_struct {
	struct fdtable *fdt;
} KERNEL;

struct sched_info {
	unsigned long long run_delay, last_arrival;
} KERNEL;

struct sched_entity {
	u64 sum_exec_runtime;
} KERNEL;

struct pid;

struct list_head {
	struct list_head *next;
} KERNEL;

struct task_struct {
	u32 __state;
	u32 flags;
	int on_cpu, on_rq;
	int static_prio;
	u32 rt_priority;
	u32 policy;
	struct sched_info sched_info;
	struct sched_entity se;
	struct mm_struct *mm;
	int exit_state;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct list_head tasks;
	void *worker_private;
	u64 utime, stime;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw;
	u64 start_boottime;
	unsigned long min_flt, maj_flt;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_io_accounting ioac;
} KERNEL;
enum { PF_WQ_WORKER = 0x20, PF_KTHREAD = 0x00200000 };

struct kthread {
	void *data;
	char *full_name;
} KERNEL;

struct work_struct;
struct worker_pool;

struct worker {
	struct work_struct *current_work;
	struct worker_pool *pool;
	char desc[24]; // 32 later, with the same beginning
} KERNEL;

struct bpf_array {
	void *pptrs[0];
} KERNEL;

// Has an unsigned long in front; to read one at any address.
struct rb_node {
	unsigned long __rb_parent_color;
} KERNEL;

struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags) KSYM;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) KSYM;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) KSYM;
extern struct task_struct *bpf_task_acquire(struct task_struct *task) KSYM;
extern struct task_struct *bpf_task_from_pid(s32 pid) KSYM;
extern void bpf_task_release(struct task_struct *task) KSYM;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) KSYM;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) KSYM;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) KSYM;
extern void bpf_rcu_read_lock(void) KSYM;
extern void bpf_rcu_read_unlock(void) KSYM;
extern void *bpf_rdonly_cast(const void *address, u32 type) KSYM;

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const probe_read_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*const map_lookup_of)(void *map, const void *key, u32 cpu) = (void *)195;
