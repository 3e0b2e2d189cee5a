// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads every process, and if asked every thread, in one run: a program for
// BPF_PROG_RUN that walks the kernel's list of tasks and writes one slot for
// each into arrays that user space has mapped. Nothing is converted here that
// can be converted there.
//
// The kernel's structures are declared with the members that are read and no
// others; their places are found in the running kernel's BTF when the program
// is loaded. Needs Linux 6.7 or later, for bpf_iter_task.

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define KSYM __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))

// What the loader reads of a map's definition.
#define UINT(name, value) int(*name)[value]
#define TYPE(name, value) value *name

#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)
#define KERNEL_TYPE_ID(type) __builtin_btf_type_id(*(type *)0, 1)

enum { MAP_TYPE_ARRAY = 2, MAP_TYPE_PERCPU_ARRAY = 6, FLAG_MMAPABLE = 1 << 10 };
enum { ALL_THREADS = 1 };

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
	unsigned long long run_delay;
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
	int on_cpu;
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
	struct list_head tasks, thread_node;
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

// Has an int in front.
typedef struct {
	int counter;
} KERNEL atomic_t;
typedef struct refcount_struct {
	atomic_t refs;
} KERNEL refcount_t;

struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags) KSYM;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) KSYM;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) KSYM;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) KSYM;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) KSYM;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) KSYM;
extern void bpf_rcu_read_lock(void) KSYM;
extern void bpf_rcu_read_unlock(void) KSYM;
extern void *bpf_rdonly_cast(const void *address, u32 type) KSYM;

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const probe_read_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*const map_lookup_of)(void *map, const void *key, u32 cpu) = (void *)195;

// What user space and this program share; `bpf/slots.rs` has the same.

struct arguments {
	u32 wanted;
	// How many there were, those that found no slot included.
	u32 processes;
	u32 threads;
	// The highest number of a processor that is on, and 1.
	u32 processors;
};
enum {
	WANT_THREADS = 1,
	WANT_HANDLES = 2,
	// How it is scheduled, and how long it waited for a processor.
	WANT_SCHEDULE = 4,
};

// What is looked at each time: two lines of the processor's cache, one process
// behind the other, so that the next ones are fetched unasked.
struct process {
	u32 pid, parent;
	u32 state;
	u32 threads;
	u32 marks;
	// What was wanted when all of it was read.
	unsigned short wanted;
	// All but its state and threads is as in the run before.
	unsigned short same;
	// Slots of its threads, if they were wanted.
	u32 first_thread, thread_slots;
	u64 start;
	// What it had done when all of it was read.
	u64 ran, switched;
	// Pages.
	u64 size, data, size_peak, resident_peak;
	s64 anonymous, file, shared, swapped;
	u64 handles;
};

// What a process does by itself, and how it is scheduled.
struct detail {
	u32 flags;
	u32 sequence;
	// The kernel's: 120 is the usual one.
	u32 priority, real_time, policy;
	u32 unused;
	// Nanoseconds.
	u64 user, kernel, runtime;
	u64 user_told, kernel_told;
	u64 minor_faults, major_faults;
	u64 read_bytes, written_bytes, reads, writes;
	u64 storage_read, storage_written, storage_cancelled;
	u64 switches_voluntary, switches_other;
	char name[16];
	// Of threads of the kernel.
	char long_name[64];
	char work[32];
};
enum {
	// It has memory of its own.
	MARK_MEMORY = 1,
	// A thread ended meanwhile: the sums may be wrong.
	MARK_TORN = 2,
	// This kernel counts resident pages in another way.
	MARK_NO_RESIDENT = 4,
	// It works on what `work` says.
	MARK_WORKING = 8,
	// It is a thread of the kernel.
	MARK_KERNEL = 16,
};

struct thread {
	u32 tid, state;
	u64 start, user, kernel, runtime;
	u64 user_told, kernel_told;
	u64 minor_faults, major_faults;
	u64 switches_voluntary, switches_other;
	// Nanoseconds.
	u64 waited;
	u32 priority, real_time, policy;
	u32 unused;
};

// The loader sets how many entries they have.
struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(map_flags, FLAG_MMAPABLE);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct process);
} processes SEC(".maps");

struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(map_flags, FLAG_MMAPABLE);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct detail);
} details SEC(".maps");

struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(map_flags, FLAG_MMAPABLE);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct thread);
} threads SEC(".maps");

// Where the kernel had what the last run read of the process of a slot. Nothing
// is taken from there: it is only looked at ahead of its turn, see `look_ahead`.
struct place {
	u64 task, memory, counters;
};

struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

// A variable of its own for each processor, to find out where theirs lie.
struct {
	UINT(type, MAP_TYPE_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} probe SEC(".maps");

// How far a processor's variables lie from where their addresses point.
enum { MOST_PROCESSORS = 8192 };
static volatile u64 offsets[MOST_PROCESSORS];

INLINE u64 long_at(const void *address)
{
	struct rb_node *word = bpf_rdonly_cast(address, KERNEL_TYPE_ID(struct rb_node));
	return word->__rb_parent_color;
}

INLINE s32 int_at(const void *address)
{
	struct refcount_struct *word =
		bpf_rdonly_cast(address, KERNEL_TYPE_ID(struct refcount_struct));
	return word->refs.counter;
}

// The copy of `probe` that a processor has lies as far from what the kernel
// keeps as its address as with every such variable. Answers how many processors
// there are, which may be fewer than were asked for.
INLINE u32 find_offsets(u32 processors)
{
	struct bpf_array *array = bpf_rdonly_cast(&probe, KERNEL_TYPE_ID(struct bpf_array));
	u64 address = long_at(&array->pptrs);
	struct bpf_iter_num it;
	int *at;
	u32 key = 0, found = 0;

	bpf_iter_num_new(&it, 0, processors);
	while ((at = bpf_iter_num_next(&it))) {
		u32 place = *at;
		void *copy = map_lookup_of(&probe, &key, place);

		if (!copy || place >= MOST_PROCESSORS)
			break;
		// Through memory: what is read back is a number.
		offsets[place] = (u64)copy;
		offsets[place] -= address;
		found = place + 1;
	}
	bpf_iter_num_destroy(&it);
	return found;
}

// The structures of a process are a dozen lines of the processor's cache, seldom
// there still, and found one after the other: reading them takes longer than all
// that is done with them. So they are looked at some processes ahead, where the
// run before found them, all at a time and without waiting for any. What is
// there does not matter: it is dropped, and memory that the kernel has given
// back meanwhile reads as nothing.
enum { AHEAD = 8 };
#define LOOK(field) ((void)*(volatile typeof(field) *)&(field))

INLINE void look_at(u64 address)
{
	struct refcount_struct *word =
		bpf_rdonly_cast((void *)address, KERNEL_TYPE_ID(struct refcount_struct));
	LOOK(word->refs.counter);
}

INLINE void look_ahead(u32 key, struct arguments *args)
{
	key += AHEAD;
	struct place *place = map_lookup(&places, &key);

	if (!place || !place->task)
		return;
	struct task_struct *task =
		bpf_rdonly_cast((void *)place->task, KERNEL_TYPE_ID(struct task_struct));
	LOOK(task->__state);
	LOOK(task->tasks.next);
	LOOK(task->se.sum_exec_runtime);
	LOOK(task->exit_state);
	LOOK(task->tgid);
	LOOK(task->real_parent);
	LOOK(task->thread_node.next);
	LOOK(task->signal);
	LOOK(task->nvcsw);
	if (!place->memory)
		return;
	struct mm_struct *mm =
		bpf_rdonly_cast((void *)place->memory, KERNEL_TYPE_ID(struct mm_struct));
	LOOK(mm->hiwater_rss);
	LOOK(mm->data_vm);
	if (!FIELD_EXISTS(mm->rss_stat[0].counters) || !place->counters)
		return;
	LOOK(mm->rss_stat[0].count);
	LOOK(mm->rss_stat[2].count);
	LOOK(mm->rss_stat[3].count);
	// Those of further processors are looked for side by side in any case.
	look_at(place->counters + offsets[0]);
	if (args->processors > 1)
		look_at(place->counters + offsets[1]);
}

INLINE void note_place(u32 key, struct task_struct *loose)
{
	struct place *place = map_lookup(&places, &key);
	struct mm_struct *mm = loose->mm;

	if (!place)
		return;
	place->task = (u64)loose;
	place->memory = (u64)mm;
	place->counters = 0;
	if (mm && FIELD_EXISTS(mm->rss_stat[0].counters))
		place->counters = (u64)mm->rss_stat[0].counters;
}

// Numbers of something, by kinds of pages.
struct resident {
	u64 file, anonymous, shared, swapped;
};

// What one processor has counted and not handed in.
INLINE void add_of(struct resident *sums, struct resident *counters, u64 offset)
{
	sums->file += int_at((void *)(counters->file + offset));
	sums->anonymous += int_at((void *)(counters->anonymous + offset));
	sums->shared += int_at((void *)(counters->shared + offset));
	sums->swapped += int_at((void *)(counters->swapped + offset));
}

// Notes a number in a slot, and whether it was another one.
#define NOTE(differs, field, value)                       \
	do {                                              \
		typeof(field) note_now = (value);         \
		differs |= (u64)((field) ^ note_now);     \
		(field) = note_now;                       \
	} while (0)

// Of no memory all is 0.
INLINE u64 read_memory(struct process *slot, struct mm_struct *mm, u32 processors)
{
	u64 size = 0, data = 0, size_peak = 0, resident_peak = 0, differs = 0;
	struct resident sums = {};

	if (mm) {
		size = mm->total_vm;
		data = mm->data_vm + mm->stack_vm;
		size_peak = mm->hiwater_vm;
		resident_peak = mm->hiwater_rss;
	}
	if (mm && FIELD_EXISTS(mm->rss_stat[0].counters)) {
		struct percpu_counter *file = &mm->rss_stat[MM_FILEPAGES];
		struct percpu_counter *anonymous = &mm->rss_stat[MM_ANONPAGES];
		struct percpu_counter *shared = &mm->rss_stat[MM_SHMEMPAGES];
		struct percpu_counter *swapped = &mm->rss_stat[MM_SWAPENTS];
		struct resident counters;

		sums.file = file->count;
		sums.anonymous = anonymous->count;
		sums.shared = shared->count;
		sums.swapped = swapped->count;
		counters.file = (u64)file->counters;
		counters.anonymous = (u64)anonymous->counters;
		counters.shared = (u64)shared->counters;
		counters.swapped = (u64)swapped->counters;
		// A loop costs more than all that it does for the first two.
		add_of(&sums, &counters, offsets[0]);
		if (processors > 1)
			add_of(&sums, &counters, offsets[1]);
		if (processors > 2) {
			struct bpf_iter_num it;
			int *at;

			bpf_iter_num_new(&it, 2, processors);
			while ((at = bpf_iter_num_next(&it))) {
				u32 place = *at;

				if (place >= MOST_PROCESSORS)
					break;
				add_of(&sums, &counters, offsets[place]);
			}
			bpf_iter_num_destroy(&it);
		}
	}
	NOTE(differs, slot->size, size);
	NOTE(differs, slot->data, data);
	NOTE(differs, slot->size_peak, size_peak);
	NOTE(differs, slot->resident_peak, resident_peak);
	NOTE(differs, slot->file, (s64)sums.file);
	NOTE(differs, slot->anonymous, (s64)sums.anonymous);
	NOTE(differs, slot->shared, (s64)sums.shared);
	NOTE(differs, slot->swapped, (s64)sums.swapped);
	return differs;
}

INLINE u64 ones(u64 word)
{
	word -= (word >> 1) & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (word * 0x0101010101010101ull) >> 56;
}

INLINE u64 read_handles(struct task_struct *loose, u32 *marks)
{
	struct files_struct *files = loose->files;
	struct bpf_iter_num it;
	u64 handles = 0;
	int *at;

	if (!files)
		return 0;
	struct fdtable *fdt = files->fdt;
	u64 open = (u64)fdt->open_fds;
	u32 words = fdt->max_fds / 64;
	if (words > 1 << 24)
		words = 0;
	bpf_iter_num_new(&it, 0, words);
	while ((at = bpf_iter_num_next(&it)))
		handles += ones(long_at((void *)(open + (u64)(u32)*at * 8)));
	bpf_iter_num_destroy(&it);
	if (loose->files != files)
		*marks |= MARK_TORN;
	return handles;
}

INLINE void read_long_name(struct process *process, struct detail *slot, struct task_struct *loose)
{
	struct kthread *kthread;

	slot->long_name[0] = 0;
	slot->work[0] = 0;
	if (!loose->worker_private)
		return;
	kthread = bpf_rdonly_cast(loose->worker_private, KERNEL_TYPE_ID(struct kthread));
	if (kthread->full_name)
		probe_read_str(slot->long_name, sizeof(slot->long_name), kthread->full_name);
	if (slot->flags & PF_WQ_WORKER) {
		struct worker *worker =
			bpf_rdonly_cast(kthread->data, KERNEL_TYPE_ID(struct worker));

		// A rescuer that has nothing to rescue belongs to no pool: then
		// /proc does not tell what it worked on last.
		if (!worker->pool)
			return;
		probe_read_str(slot->work, sizeof(slot->work), &worker->desc);
		if (worker->current_work)
			process->marks |= MARK_WORKING;
	}
}

// Whether the slot holds the same process, and that has not run since. Then what
// it does by itself is as it was: half of the memory need not be looked at.
INLINE int has_not_run(struct process *slot, struct task_struct *task, struct arguments *args)
{
	if (!FIELD_EXISTS(task->on_cpu) || task->on_cpu)
		return 0;
	return slot->pid == (u32)task->tgid && slot->start == task->start_boottime &&
	       slot->switched == task->nvcsw + task->nivcsw &&
	       slot->ran == task->se.sum_exec_runtime && slot->threads == 1 &&
	       slot->wanted == args->wanted && !(slot->marks & MARK_TORN);
}

// What others may change while it does not run. Answers whether it is as it was.
INLINE int read_levels(struct process *slot, u32 key, struct task_struct *task,
		       struct task_struct *loose, struct arguments *args)
{
	u32 marks = slot->marks & ~(MARK_MEMORY | MARK_NO_RESIDENT);
	u64 differs = 0;

	slot->state = task->__state | task->exit_state;
	slot->first_thread = args->threads;
	slot->thread_slots = 0;
	NOTE(differs, slot->parent, loose->real_parent->tgid);
	if (!(marks & MARK_KERNEL)) {
		struct mm_struct *mm = loose->mm;

		differs |= read_memory(slot, mm, args->processors);
		if (mm) {
			marks |= MARK_MEMORY;
			if (!FIELD_EXISTS(mm->rss_stat[0].counters))
				marks |= MARK_NO_RESIDENT;
			// What is not its own any more may be somebody else's.
			if (loose->mm != mm)
				marks |= MARK_TORN;
		}
	}
	if (args->wanted & WANT_HANDLES)
		NOTE(differs, slot->handles, read_handles(loose, &marks));
	if (args->wanted & WANT_SCHEDULE) {
		struct detail *detail = map_lookup(&details, &key);

		if (detail) {
			NOTE(differs, detail->priority, task->static_prio);
			NOTE(differs, detail->real_time, task->rt_priority);
			NOTE(differs, detail->policy, task->policy);
		}
	}
	NOTE(differs, slot->marks, marks);
	return !differs;
}

INLINE void begin_process(struct process *process, struct detail *slot, struct task_struct *task,
			  struct task_struct *loose, struct signal_struct *signal,
			  struct arguments *args)
{
	u32 marks = 0;

	slot->sequence = signal->stats_lock.seqcount.seqcount.sequence;
	if (slot->sequence & 1)
		marks |= MARK_TORN;
	// Another thread is about to take its place.
	if ((u64)loose->group_leader != (u64)loose)
		marks |= MARK_TORN;
	slot->flags = task->flags;
	if (slot->flags & PF_KTHREAD)
		marks |= MARK_KERNEL;
	process->marks = marks;
	process->pid = task->tgid;
	process->threads = signal->nr_threads;
	process->start = task->start_boottime;
	process->switched = task->nvcsw + task->nivcsw;
	process->ran = task->se.sum_exec_runtime;
	process->wanted = args->wanted;
	// A thread of the kernel has none, whoever had the slot before.
	process->size = process->data = process->size_peak = process->resident_peak = 0;
	process->anonymous = process->file = process->shared = process->swapped = 0;
	__builtin_memcpy(slot->name, task->comm, sizeof(slot->name));

	slot->user = signal->utime;
	slot->kernel = signal->stime;
	slot->runtime = signal->sum_sched_runtime;
	slot->user_told = signal->prev_cputime.utime;
	slot->kernel_told = signal->prev_cputime.stime;
	slot->minor_faults = signal->min_flt;
	slot->major_faults = signal->maj_flt;
	slot->read_bytes = signal->ioac.rchar;
	slot->written_bytes = signal->ioac.wchar;
	slot->reads = signal->ioac.syscr;
	slot->writes = signal->ioac.syscw;
	slot->storage_read = signal->ioac.read_bytes;
	slot->storage_written = signal->ioac.write_bytes;
	slot->storage_cancelled = signal->ioac.cancelled_write_bytes;
	slot->switches_voluntary = signal->nvcsw;
	slot->switches_other = signal->nivcsw;
	if (slot->flags & PF_KTHREAD)
		read_long_name(process, slot, loose);
}

INLINE void add_thread(struct process *process, struct detail *slot, struct task_struct *task,
		       struct task_struct *loose, struct signal_struct *signal)
{
	// One that was taken off the lists is in the sums of `signal`.
	if (loose->thread_pid) {
		slot->user += task->utime;
		slot->kernel += task->stime;
		slot->runtime += task->se.sum_exec_runtime;
		slot->minor_faults += task->min_flt;
		slot->major_faults += task->maj_flt;
		slot->read_bytes += task->ioac.rchar;
		slot->written_bytes += task->ioac.wchar;
		slot->reads += task->ioac.syscr;
		slot->writes += task->ioac.syscw;
		slot->storage_read += task->ioac.read_bytes;
		slot->storage_written += task->ioac.write_bytes;
		slot->storage_cancelled += task->ioac.cancelled_write_bytes;
		slot->switches_voluntary += task->nvcsw;
		slot->switches_other += task->nivcsw;
	}
	if (signal->stats_lock.seqcount.seqcount.sequence != slot->sequence)
		process->marks |= MARK_TORN;
}

INLINE void write_thread(struct thread *slot, struct task_struct *task, struct arguments *args)
{
	slot->tid = task->pid;
	slot->state = task->__state | task->exit_state;
	slot->start = task->start_boottime;
	slot->user = task->utime;
	slot->kernel = task->stime;
	slot->runtime = task->se.sum_exec_runtime;
	slot->user_told = task->prev_cputime.utime;
	slot->kernel_told = task->prev_cputime.stime;
	slot->minor_faults = task->min_flt;
	slot->major_faults = task->maj_flt;
	slot->switches_voluntary = task->nvcsw;
	slot->switches_other = task->nivcsw;
	if (args->wanted & WANT_SCHEDULE) {
		slot->waited = 0;
		if (FIELD_EXISTS(task->sched_info.run_delay))
			slot->waited = task->sched_info.run_delay;
		slot->priority = task->static_prio;
		slot->real_time = task->rt_priority;
		slot->policy = task->policy;
	}
}

SEC("syscall")
int read_all(struct arguments *args)
{
	struct bpf_iter_task it;
	struct task_struct *task;
	struct process *process;
	struct detail *detail;
	struct thread *thread;
	u32 key;

	args->processes = 0;
	args->threads = 0;
	args->processors = find_offsets(args->processors);
	int last = 0;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, (void *)0, ALL_THREADS);
	while ((task = bpf_iter_task_next(&it))) {
		// Numbers are read faster from what the kernel vouches for. But to
		// learn whether it vouches for a pointer found there, too, the
		// verifier searches all names that it has, which takes long.
		struct task_struct *loose =
			bpf_rdonly_cast(task, KERNEL_TYPE_ID(struct task_struct));

		// The kernel's idle task.
		if (!task->tgid)
			continue;
		if (task->tgid != last) {
			last = task->tgid;
			key = args->processes++;
			process = map_lookup(&processes, &key);
			if (!process)
				continue;
			look_ahead(key, args);
			note_place(key, loose);
			int rested = has_not_run(process, task, args);

			if (!rested) {
				detail = map_lookup(&details, &key);
				if (!detail)
					continue;
				begin_process(process, detail, task, loose, loose->signal, args);
				add_thread(process, detail, task, loose, loose->signal);
			}
			process->same = read_levels(process, key, task, loose, args) && rested;
		} else {
			key = args->processes - 1;
			process = map_lookup(&processes, &key);
			detail = map_lookup(&details, &key);
			if (!process || !detail)
				continue;
			add_thread(process, detail, task, loose, loose->signal);
		}
		if (args->wanted & WANT_THREADS && loose->thread_pid) {
			key = args->threads++;
			thread = map_lookup(&threads, &key);
			if (thread) {
				write_thread(thread, task, args);
				process->thread_slots++;
			}
		}
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

// Some of what is called here is for programs under such a licence only; this
// one may be had under either of its own, too.
SEC("license") const char licence[] = "Dual MIT/GPL";
