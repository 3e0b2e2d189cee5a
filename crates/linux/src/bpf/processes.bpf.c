// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads every process, and if asked every thread, in one run: a program for
// BPF_PROG_RUN that walks the kernel's list of tasks and writes one slot for
// each into arrays that user space has mapped. Values are written as the kernel
// has them, and user space converts them. A second program visits some processes
// by their numbers, without walking the list.
//
// Needs Linux 6.7 or later, for bpf_iter_task.

#include "kernel.h"

// The structures that user space and this program share; `bpf/slots.rs` has the same.

struct arguments {
	u32 wanted;
	// The numbers of processes and threads that were visited, including those for
	// which there was no slot.
	u32 processes;
	u32 threads;
	// One more than the highest number of a processor that is on.
	u32 processors;
	// 1 if a slot has another process than in the run before.
	u32 moved;
	// 1 if only the processes that `chosen` names get a slot.
	u32 some;
	// 1 if this run fills the slots behind those of the run before.
	u32 goes_on;
};
enum {
	WANT_THREADS = 1,
	WANT_HANDLES = 2,
	// Priority and policy, and the time for which threads waited for a processor.
	WANT_SCHEDULE = 4,
};

// The values of a process that are read in each run. They take two lines of the
// processor's cache and lie in the order of the processes, so that the processor
// fetches the next ones by itself.
struct process {
	u32 pid, parent;
	u32 threads;
	u32 marks;
	// `arguments.wanted` of the run that read all values of the process last.
	unsigned short wanted;
	// 1 if all values but those of its threads are as in the run before.
	unsigned short same;
	// The first slot and the number of slots of its threads, if threads are wanted.
	u32 first_thread, thread_slots;
	u32 unused;
	u64 start;
	// In pages.
	u64 size, data, size_peak, resident_peak;
	s64 anonymous, file, shared, swapped;
	u64 handles;
};

// The values of a process that change only while it runs, and those of its
// scheduling.
struct detail {
	u32 flags;
	u32 sequence;
	// `static_prio` of the kernel, in which 120 is the usual priority.
	u32 priority, real_time, policy;
	u32 unused;
	// In nanoseconds. `_told` are the times that the kernel showed last in /proc.
	u64 user, kernel, runtime;
	u64 user_told, kernel_told;
	u64 minor_faults, major_faults;
	u64 read_bytes, written_bytes, reads, writes;
	u64 storage_read, storage_written, storage_cancelled;
	u64 switches_voluntary, switches_other;
	char name[16];
	// For threads of the kernel only: the whole name, and the work that the
	// thread does for a workqueue.
	char long_name[64];
	char work[32];
};
enum {
	// The process has memory of its own.
	MARK_MEMORY = 1,
	// A thread ended while the process was read, so that sums may be wrong.
	MARK_TORN = 2,
	// The resident pages were not read: this kernel counts them in another way.
	MARK_NO_RESIDENT = 4,
	// The thread works on what `work` says at this moment.
	MARK_WORKING = 8,
	// The process is a thread of the kernel.
	MARK_KERNEL = 16,
};

struct thread {
	u32 tid, state;
	u64 start, user, kernel, runtime;
	u64 user_told, kernel_told;
	u64 minor_faults, major_faults;
	u64 switches_voluntary, switches_other;
	// In nanoseconds.
	u64 waited;
	u32 priority, real_time, policy;
	u32 unused;
};

// The loader sets the number of entries of each array.
MAP processes = { MAP_TYPE_ARRAY, sizeof(struct process), FLAG_MMAPABLE };
MAP details = { MAP_TYPE_ARRAY, sizeof(struct detail), FLAG_MMAPABLE };
MAP threads = { MAP_TYPE_ARRAY, sizeof(struct thread), FLAG_MMAPABLE };

// The addresses at which the kernel had the process of a slot when all its values
// were read last: the task, its memory, and the counts of that memory's pages by
// processor. They are valid as long as the process does not run. Otherwise they
// are only used to fetch memory into the cache, see `look_ahead`.
struct place {
	u64 task, memory, counters;
	// The time at which the process was last given a processor; 0 if it ran or
	// waited for a processor when it was read.
	u64 arrival;
};

MAP places = { MAP_TYPE_ARRAY, sizeof(struct place), 0 };

// A variable that each processor has for itself, by which the distance between the
// variables of two processors is found.
MAP probe = { MAP_TYPE_PERCPU_ARRAY, sizeof(u64), 0 };

// The processes that are wanted if not all are. A name is wanted if it has the bits
// of `text` wherever `mask` has ones. By its mask a text stands for names that
// begin with it or are equal to it, without regard to case.
enum { MOST_NUMBERS = 64, MOST_NAMES = 8 };
struct chosen {
	u32 numbers, names;
	u32 number[MOST_NUMBERS];
	struct {
		u64 text[2], mask[2];
	} name[MOST_NAMES];
};

MAP chosen = { MAP_TYPE_ARRAY, sizeof(struct chosen), 0 };

// For each processor, the distance from the address of such a variable to the
// processor's own copy.
enum { MOST_PROCESSORS = 8192 };
static volatile u64 offsets[MOST_PROCESSORS];

INLINE u64 long_at(const void *address)
{
	struct rb_node *word = bpf_rdonly_cast(address, KERNEL_TYPE_ID(struct rb_node));
	return word->__rb_parent_color;
}

// Finds the distance of each processor by its copy of `probe`: the distance is the
// same for all such variables of the kernel. Returns the number of processors,
// which may be smaller than `processors`.
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
		// The verifier takes what is read back from memory for a number, not
		// for a pointer.
		offsets[place] = (u64)copy;
		offsets[place] -= address;
		found = place + 1;
	}
	bpf_iter_num_destroy(&it);
	// `look_at_process` uses the first two without looking at their number.
	if (found == 1)
		offsets[1] = offsets[0];
	return found;
}

// The structures of a process take a dozen lines of the processor's cache. They are
// seldom in the cache any more, and each holds the address of the next one, so that
// waiting for them takes longer than everything else. Therefore the structures of
// later processes are read ahead, all together, at the addresses that the run before
// found. The values that are read there are dropped. Memory that the kernel has
// freed meanwhile reads as 0.
enum { AHEAD = 8 };
#define LOOK(field) ((void)*(volatile typeof(field) *)&(field))

INLINE void look_at(u64 address)
{
	struct rb_node *word = bpf_rdonly_cast((void *)address, KERNEL_TYPE_ID(struct rb_node));
	LOOK(word->__rb_parent_color);
}

INLINE void look_at_process(u32 key)
{
	struct place *place = map_lookup(&places, &key);

	if (!place)
		return;
	// At the address 0 the kernel reads nothing and gives 0.
	struct task_struct *task =
		bpf_rdonly_cast((void *)place->task, KERNEL_TYPE_ID(struct task_struct));
	LOOK(task->tasks.next);
	LOOK(task->real_parent);
	struct mm_struct *mm =
		bpf_rdonly_cast((void *)place->memory, KERNEL_TYPE_ID(struct mm_struct));
	LOOK(mm->hiwater_rss);
	LOOK(mm->data_vm);
	if (!FIELD_EXISTS(mm->rss_stat[0].counters))
		return;
	LOOK(mm->rss_stat[0].count);
	LOOK(mm->rss_stat[2].count);
	LOOK(mm->rss_stat[3].count);
	if (!place->counters)
		return;
	// The counts of further processors do not depend on each other: the processor
	// fetches them side by side when they are read.
	look_at(place->counters + offsets[0]);
	look_at(place->counters + offsets[1]);
}

// Reads four processes ahead. While a processor waits for memory it goes on with
// what follows, but not with much more than this.
NOT_INLINE int look_ahead(u32 key)
{
	look_at_process(key + AHEAD);
	look_at_process(key + AHEAD + 1);
	look_at_process(key + AHEAD + 2);
	look_at_process(key + AHEAD + 3);
	return 0;
}

// The address of the counts that processors keep of a memory's pages, in which the
// counts of all kinds lie one behind the other; 0 if this kernel keeps them otherwise.
INLINE u64 counters_of(struct mm_struct *mm)
{
	if (!FIELD_EXISTS(mm->rss_stat[0].counters))
		return 0;
	u64 first = (u64)mm->rss_stat[0].counters;

	if ((u64)mm->rss_stat[1].counters != first + sizeof(s32) ||
	    (u64)mm->rss_stat[2].counters != first + 2 * sizeof(s32) ||
	    (u64)mm->rss_stat[3].counters != first + 3 * sizeof(s32))
		return 0;
	return first;
}

// Numbers of resident pages, by their kind.
struct resident {
	s64 file, anonymous, shared, swapped;
};

// Adds the counts of one processor that are not part of the common counts yet. One
// word holds two kinds.
INLINE void add_of(struct resident *sums, u64 counters)
{
	u64 first = long_at((void *)counters), second = long_at((void *)(counters + 8));

	_Static_assert(MM_FILEPAGES == 0 && MM_ANONPAGES == 1, "order of the first two");
	_Static_assert(MM_SWAPENTS == 2 && MM_SHMEMPAGES == 3, "order of the others");
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	sums->file += (s32)first;
	sums->anonymous += (s64)first >> 32;
	sums->swapped += (s32)second;
	sums->shared += (s64)second >> 32;
#else
	sums->file += (s64)first >> 32;
	sums->anonymous += (s32)first;
	sums->swapped += (s64)second >> 32;
	sums->shared += (s32)second;
#endif
}

// Stores a value in a field of a slot. Sets bits in `differs` if the field had
// another value.
#define NOTE(differs, field, value)                       \
	do {                                              \
		typeof(field) note_now = (value);         \
		differs |= (u64)((field) ^ note_now);     \
		(field) = note_now;                       \
	} while (0)

NOT_INLINE int add_of_further(struct resident *sums, u64 counters, u32 processors)
{
	struct bpf_iter_num it;
	int *at;

	if (!sums)
		return 0;
	bpf_iter_num_new(&it, 2, processors);
	while ((at = bpf_iter_num_next(&it))) {
		u32 place = *at;

		if (place >= MOST_PROCESSORS)
			break;
		add_of(sums, counters + offsets[place]);
	}
	bpf_iter_num_destroy(&it);
	return 0;
}

// Stores the values of a memory in a slot; all are 0 without a memory. Returns 0 if
// the slot had these values before.
INLINE u64 read_memory(struct process *slot, struct mm_struct *mm, u64 counters, u32 processors)
{
	u64 size = 0, data = 0, size_peak = 0, resident_peak = 0, differs = 0;
	struct resident sums = {};

	if (mm) {
		size = mm->total_vm;
		data = mm->data_vm + mm->stack_vm;
		size_peak = mm->hiwater_vm;
		resident_peak = mm->hiwater_rss;
	}
	if (mm && counters) {
		sums.file = mm->rss_stat[MM_FILEPAGES].count;
		sums.anonymous = mm->rss_stat[MM_ANONPAGES].count;
		sums.shared = mm->rss_stat[MM_SHMEMPAGES].count;
		sums.swapped = mm->rss_stat[MM_SWAPENTS].count;
		// For the first two processors, a loop would cost more than its work.
		add_of(&sums, counters + offsets[0]);
		if (processors > 1)
			add_of(&sums, counters + offsets[1]);
		if (processors > 2)
			add_of_further(&sums, counters, processors);
	}
	NOTE(differs, slot->size, size);
	NOTE(differs, slot->data, data);
	NOTE(differs, slot->size_peak, size_peak);
	NOTE(differs, slot->resident_peak, resident_peak);
	NOTE(differs, slot->file, sums.file);
	NOTE(differs, slot->anonymous, sums.anonymous);
	NOTE(differs, slot->shared, sums.shared);
	NOTE(differs, slot->swapped, sums.swapped);
	return differs;
}

INLINE u64 ones(u64 word)
{
	word -= (word >> 1) & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (word * 0x0101010101010101ull) >> 56;
}

NOT_INLINE u64 ones_of(u64 address, u32 words)
{
	struct bpf_iter_num it;
	u64 sum = 0;
	int *at;

	bpf_iter_num_new(&it, 0, words);
	while ((at = bpf_iter_num_next(&it)))
		sum += ones(long_at((void *)(address + (u64)(u32)*at * 8)));
	bpf_iter_num_destroy(&it);
	return sum;
}

INLINE u64 read_handles(struct task_struct *loose, u32 *marks)
{
	struct files_struct *files = loose->files;

	if (!files)
		return 0;
	struct fdtable *fdt = files->fdt;
	// The address of the bits is read as a number.
	u64 open = long_at(&fdt->open_fds);
	u32 words = fdt->max_fds / 64;
	if (words > 1 << 24)
		words = 0;
	u64 handles = ones_of(open, words);
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

		// A rescuer without work belongs to no pool. /proc does not show what
		// it worked on last then, and neither does this.
		if (!worker->pool)
			return;
		probe_read_str(slot->work, sizeof(slot->work), &worker->desc);
		if (worker->current_work)
			process->marks |= MARK_WORKING;
	}
}

// The time at which a task was last given a processor; 0 if the kernel does not keep
// it. The compiler must read it at each call.
INLINE u64 last_arrival(struct task_struct *task)
{
	if (!FIELD_EXISTS(task->sched_info.last_arrival))
		return 0;
	return *(volatile unsigned long long *)&task->sched_info.last_arrival;
}

// The time at which a task was last given a processor; 0 while it has one or waits
// for one. A task that is on no queue is put on one before it runs, and its time is
// updated then. (A task that was stopped just before it went to sleep goes on without
// this.)
INLINE u64 arrival_of(struct task_struct *task)
{
	// Read before the rest: if the task runs and goes to sleep meanwhile, this is
	// not its last time, and the next run sees another one.
	u64 arrival = last_arrival(task);

	if (!FIELD_EXISTS(task->on_cpu) || *(volatile int *)&task->on_cpu ||
	    *(volatile int *)&task->on_rq)
		return 0;
	return arrival;
}

// Stores the addresses of a process. Called before all values are read that the
// process may change while it runs.
INLINE void note_place(struct place *place, struct task_struct *task, struct task_struct *loose)
{
	place->arrival = arrival_of(task);
	struct mm_struct *mm = loose->mm;

	place->task = (u64)task;
	place->memory = (u64)mm;
	place->counters = mm ? counters_of(mm) : 0;
}

// Whether the process of the slot had one thread and did not run when all its values
// were read last, and has not run since. Then the values that change only while it
// runs are still right; only the process itself can add threads. The task is the same
// if address and time are: no other task is at this address and was given a processor
// in the same nanosecond.
INLINE int has_not_run(struct process *slot, struct place *place, struct task_struct *task,
		       struct arguments *args)
{
	u64 differs = (place->arrival ^ last_arrival(task)) | (slot->threads ^ 1) |
		      (slot->wanted ^ args->wanted) | (slot->marks & MARK_TORN);

	return place->task == (u64)task && !differs && place->arrival;
}

// Whether the process has not run since it was read, so that its memory is the same.
INLINE int still_rests(struct place *place, struct task_struct *task)
{
	return place->arrival && place->arrival == last_arrival(task);
}

// Reads the values that may change while the process does not run, because other
// processes change them. Returns whether all are as before.
NOT_INLINE int read_levels(u32 key, u32 wanted, u32 processors)
{
	struct process *slot = map_lookup(&processes, &key);
	struct place *place = map_lookup(&places, &key);

	if (!slot || !place)
		return 0;
	struct task_struct *task =
		bpf_rdonly_cast((void *)place->task, KERNEL_TYPE_ID(struct task_struct));
	u32 marks = slot->marks & ~(MARK_MEMORY | MARK_NO_RESIDENT);
	u64 differs = 0;

	NOTE(differs, slot->parent, task->real_parent->tgid);
	if (!(marks & MARK_KERNEL)) {
		struct mm_struct *mm = bpf_rdonly_cast((void *)place->memory,
						       KERNEL_TYPE_ID(struct mm_struct));

		differs |= read_memory(slot, mm, place->counters, processors);
		if (place->memory) {
			marks |= MARK_MEMORY;
			if (!place->counters)
				marks |= MARK_NO_RESIDENT;
			// If the process ran meanwhile, this memory may belong to another
			// process now.
			if (!still_rests(place, task) && (u64)task->mm != place->memory)
				marks |= MARK_TORN;
		}
	}
	if (wanted & WANT_HANDLES)
		NOTE(differs, slot->handles, read_handles(task, &marks));
	if (wanted & WANT_SCHEDULE) {
		struct detail *detail = map_lookup(&details, &key);

		if (detail) {
			NOTE(differs, detail->priority, task->static_prio);
			NOTE(differs, detail->real_time, task->rt_priority);
			NOTE(differs, detail->policy, task->policy);
		}
	}
	NOTE(differs, slot->marks, marks);
	// User space reads the resident pages elsewhere if they are missing here, and
	// these may have changed.
	return !differs && !(marks & MARK_NO_RESIDENT);
}

// A number that changes when the kernel adds the counts of a thread that ended to its
// process; odd while it does. The compiler must read it at each call.
INLINE u32 sequence_of(struct signal_struct *signal)
{
	return *(volatile u32 *)&signal->stats_lock.seqcount.seqcount.sequence;
}

INLINE void begin_process(struct process *process, struct detail *slot, struct task_struct *task,
			  struct task_struct *loose, struct signal_struct *signal,
			  struct arguments *args)
{
	u32 marks = 0;

	slot->sequence = sequence_of(signal);
	if (slot->sequence & 1)
		marks |= MARK_TORN;
	// Another thread is about to become the first one of the process.
	if ((u64)loose->group_leader != (u64)loose)
		marks |= MARK_TORN;
	slot->flags = task->flags;
	if (slot->flags & PF_KTHREAD)
		marks |= MARK_KERNEL;
	if (process->pid != (u32)task->tgid || process->start != task->start_boottime)
		args->moved = 1;
	process->marks = marks;
	process->pid = task->tgid;
	process->threads = signal->nr_threads;
	process->start = task->start_boottime;
	process->wanted = args->wanted;
	// A kernel thread has no memory, and the slot may have values of another process.
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
	// The counts of a thread that was taken off the lists are in those of `signal`.
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
	if (sequence_of(signal) != slot->sequence)
		process->marks |= MARK_TORN;
}

INLINE void write_thread(struct process *process, struct task_struct *task,
			 struct task_struct *loose, struct arguments *args)
{
	if (!(args->wanted & WANT_THREADS) || !loose->thread_pid)
		return;
	u32 key = args->threads++;
	struct thread *slot = map_lookup(&threads, &key);

	if (!slot)
		return;
	process->thread_slots++;
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

INLINE void begin_threads(struct process *process, struct arguments *args)
{
	process->first_thread = args->threads;
	process->thread_slots = 0;
}

// Adds the counts of all threads of a process but the first one.
INLINE void add_threads(struct process *process, struct detail *detail, struct task_struct *first,
			struct signal_struct *signal, struct arguments *args)
{
	struct task_struct *kept = bpf_task_acquire(first);
	struct bpf_iter_task it;
	struct task_struct *task;

	// The process is being freed.
	if (!kept) {
		process->marks |= MARK_TORN;
		return;
	}
	bpf_iter_task_new(&it, kept, THREADS_OF_PROCESS);
	while ((task = bpf_iter_task_next(&it))) {
		if (task == first)
			continue;
		struct task_struct *loose =
			bpf_rdonly_cast(task, KERNEL_TYPE_ID(struct task_struct));

		add_thread(process, detail, task, loose, signal);
		write_thread(process, task, loose, args);
	}
	bpf_iter_task_destroy(&it);
	bpf_task_release(kept);
	// The counts of a thread that ended after the last one was visited are missing.
	if (sequence_of(signal) != detail->sequence)
		process->marks |= MARK_TORN;
}

// A word in which each byte is 0xff where the byte of `word` is not 0, and 0 elsewhere.
INLINE u64 bytes_in_use(u64 word)
{
	const u64 low = 0x7f7f7f7f7f7f7f7full;

	return ((((word & low) + low) | word) >> 7 & 0x0101010101010101ull) * 0xff;
}

NOT_INLINE int is_wanted(u64 first, u64 second, u64 first_known, u64 second_known);

INLINE int is_named(struct task_struct *task)
{
	u64 name[2], known[2] = { ~0ull, ~0ull };

	__builtin_memcpy(name, task->comm, sizeof(name));
	// In /proc the name of such a thread ends with its work, which is not in `comm`.
	// So only the bytes that `comm` has decide.
	if (task->flags & PF_WQ_WORKER) {
		known[0] = bytes_in_use(name[0]);
		known[1] = bytes_in_use(name[1]);
	}
	return is_wanted(name[0], name[1], known[0], known[1]);
}

// Fills the next slot with a process.
INLINE void visit(struct task_struct *task, struct arguments *args)
{
	// Numbers are read faster through a pointer that the verifier trusts. But for
	// each pointer that is read through such a pointer the verifier searches all of
	// its names, which takes long. So pointers are read through `loose`.
	struct task_struct *loose = bpf_rdonly_cast(task, KERNEL_TYPE_ID(struct task_struct));
	u32 key = args->processes;
	struct process *process = map_lookup(&processes, &key);
	struct place *place = map_lookup(&places, &key);

	// The kernel's idle task has the process ID 0, and gets no slot.
	int rested = process && place && has_not_run(process, place, task, args);
	if (!rested && !task->tgid)
		return;
	args->processes++;
	if (!process || !place)
		return;
	if (key % 4 == 0)
		look_ahead(key);
	if (!rested) {
		struct detail *detail = map_lookup(&details, &key);
		struct signal_struct *signal = loose->signal;

		if (!detail)
			return;
		note_place(place, task, loose);
		begin_process(process, detail, task, loose, signal, args);
		begin_threads(process, args);
		add_thread(process, detail, task, loose, signal);
		write_thread(process, task, loose, args);
		if (process->threads > 1)
			add_threads(process, detail, task, signal, args);
	} else if (args->wanted & WANT_THREADS) {
		begin_threads(process, args);
		write_thread(process, task, loose, args);
	}
	process->same = read_levels(key, args->wanted, args->processors) && rested;
}

INLINE void begin(struct arguments *args)
{
	if (!args->goes_on)
		args->processes = args->threads = args->moved = 0;
	args->processors = find_offsets(args->processors);
}

SEC("all")
int read_all(struct arguments *args)
{
	struct bpf_iter_task it;
	struct task_struct *task;

	begin(args);
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, (void *)0, ALL_PROCESSES);
	while ((task = bpf_iter_task_next(&it))) {
		if (!args->some || is_named(task))
			visit(task, args);
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

// Whether a name may be a wanted one; only the bits that are set in `known` are
// compared. User space decides if the kernel's name is a part of the whole name, and
// about letters beyond ASCII. Only the program in the section "all" calls this.
SEC("all")
NOT_INLINE int is_wanted(u64 first, u64 second, u64 first_known, u64 second_known)
{
	u32 key = 0;
	struct chosen *wanted = map_lookup(&chosen, &key);
	struct bpf_iter_num it;
	int *at, found = 0;

	if (!wanted)
		return 0;
	if ((first | second) & 0x8080808080808080ull)
		return 1;
	bpf_iter_num_new(&it, 0, MOST_NAMES);
	while ((at = bpf_iter_num_next(&it))) {
		u32 place = *at;

		if (place >= MOST_NAMES || place >= wanted->names)
			break;
		u64 *text = wanted->name[place].text, *mask = wanted->name[place].mask;

		found |= !(((first ^ text[0]) & mask[0] & first_known) |
			   ((second ^ text[1]) & mask[1] & second_known));
	}
	bpf_iter_num_destroy(&it);
	return found;
}

// Visits the processes whose numbers are wanted, and no others.
SEC("some")
int read_some(struct arguments *args)
{
	u32 key = 0;
	struct chosen *wanted = map_lookup(&chosen, &key);
	struct bpf_iter_num it;
	int *at;

	begin(args);
	if (!wanted)
		return 0;
	bpf_rcu_read_lock();
	bpf_iter_num_new(&it, 0, MOST_NUMBERS);
	while ((at = bpf_iter_num_next(&it))) {
		u32 place = *at;

		if (place >= MOST_NUMBERS || place >= wanted->numbers)
			break;
		struct task_struct *task = bpf_task_from_pid(wanted->number[place]);

		if (!task)
			continue;
		// The number may be that of a thread that is not the first of its process.
		if (task->pid == task->tgid)
			visit(task, args);
		bpf_task_release(task);
	}
	bpf_iter_num_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}
