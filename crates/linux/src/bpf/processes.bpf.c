// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads every process, and if asked every thread, in one run: a program for
// BPF_PROG_RUN that walks the kernel's list of tasks and writes one slot for
// each into arrays that user space has mapped. Nothing is converted here that
// can be converted there. A second program visits some processes by their
// numbers, without walking the list.
//
// Needs Linux 6.7 or later, for bpf_iter_task.

#include "kernel.h"

// What user space and this program share; `bpf/slots.rs` has the same.

struct arguments {
	u32 wanted;
	// How many there were, those that found no slot included.
	u32 processes;
	u32 threads;
	// The highest number of a processor that is on, and 1.
	u32 processors;
	// A slot has another process than in the run before.
	u32 moved;
	// Only what `chosen` names gets a slot.
	u32 some;
	// The slots behind those of the run before are filled.
	u32 goes_on;
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
	u32 threads;
	u32 marks;
	// What was wanted when all of it was read.
	unsigned short wanted;
	// All but its threads is as in the run before.
	unsigned short same;
	// Slots of its threads, if they were wanted.
	u32 first_thread, thread_slots;
	u32 unused;
	u64 start;
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

// Arrays. The loader sets how many entries they have.
MAP processes = { MAP_TYPE_ARRAY, sizeof(struct process), FLAG_MMAPABLE };
MAP details = { MAP_TYPE_ARRAY, sizeof(struct detail), FLAG_MMAPABLE };
MAP threads = { MAP_TYPE_ARRAY, sizeof(struct thread), FLAG_MMAPABLE };

// Where the kernel had what was read of the process of a slot when all of it
// was: the task, its memory, and what processors count of that. For as long as
// the process does not run, that is where it is; else it is only looked at ahead
// of its turn, see `look_ahead`.
struct place {
	u64 task, memory, counters;
	// When it was given a processor for the last time, if it had given that
	// back and did not wait for another one.
	u64 arrival;
};

MAP places = { MAP_TYPE_ARRAY, sizeof(struct place), 0 };

// A variable of its own for each processor, to find out where theirs lie.
MAP probe = { MAP_TYPE_PERCPU_ARRAY, sizeof(u64), 0 };

// The processes that are wanted, where not all are. A name is wanted if it has
// the bits of `text` wherever `mask` has ones: it begins so, or is the same,
// without regard to case.
enum { MOST_NUMBERS = 64, MOST_NAMES = 8 };
struct chosen {
	u32 numbers, names;
	u32 number[MOST_NUMBERS];
	struct {
		u64 text[2], mask[2];
	} name[MOST_NAMES];
};

MAP chosen = { MAP_TYPE_ARRAY, sizeof(struct chosen), 0 };

// How far a processor's variables lie from where their addresses point.
enum { MOST_PROCESSORS = 8192 };
static volatile u64 offsets[MOST_PROCESSORS];

INLINE u64 long_at(const void *address)
{
	struct rb_node *word = bpf_rdonly_cast(address, KERNEL_TYPE_ID(struct rb_node));
	return word->__rb_parent_color;
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
	// Two are looked at ahead in any case.
	if (found == 1)
		offsets[1] = offsets[0];
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
	struct rb_node *word = bpf_rdonly_cast((void *)address, KERNEL_TYPE_ID(struct rb_node));
	LOOK(word->__rb_parent_color);
}

INLINE void look_at_process(u32 key)
{
	struct place *place = map_lookup(&places, &key);

	if (!place)
		return;
	// Where there is no task or no memory, the kernel sees to it that nothing
	// is read at all.
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
	// Those of further processors are looked for side by side in any case.
	look_at(place->counters + offsets[0]);
	look_at(place->counters + offsets[1]);
}

// Four at a time: the processor goes on behind what it waits for, but not far.
NOT_INLINE int look_ahead(u32 key)
{
	look_at_process(key + AHEAD);
	look_at_process(key + AHEAD + 1);
	look_at_process(key + AHEAD + 2);
	look_at_process(key + AHEAD + 3);
	return 0;
}

// What processors count of a memory's pages, for each kind one behind the other;
// 0 where this kernel has it otherwise.
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

// Pages, by kind.
struct resident {
	s64 file, anonymous, shared, swapped;
};

// What one processor has counted and not handed in, two kinds at a time.
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

// Notes a number in a slot, and whether it was another one.
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

// Of no memory all is 0. Answers what differs from what the slot had.
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
		// A loop costs more than all that it does for the first two.
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
	// As a number.
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

		// A rescuer that has nothing to rescue belongs to no pool: then
		// /proc does not tell what it worked on last.
		if (!worker->pool)
			return;
		probe_read_str(slot->work, sizeof(slot->work), &worker->desc);
		if (worker->current_work)
			process->marks |= MARK_WORKING;
	}
}

// Read each time that it is asked for.
INLINE u64 last_arrival(struct task_struct *task)
{
	if (!FIELD_EXISTS(task->sched_info.last_arrival))
		return 0;
	return *(volatile unsigned long long *)&task->sched_info.last_arrival;
}

// When a task was last given a processor; 0 while it has one or waits for one. A
// task on no queue must be put on one to run, and its time is then updated. (A task
// that was stopped just before it went to sleep continues without that.)
INLINE u64 arrival_of(struct task_struct *task)
{
	// First: if it runs and goes to sleep meanwhile, this is not the last time.
	u64 arrival = last_arrival(task);

	if (!FIELD_EXISTS(task->on_cpu) || *(volatile int *)&task->on_cpu ||
	    *(volatile int *)&task->on_rq)
		return 0;
	return arrival;
}

// Notes where things are, before all that the process may change while it runs.
INLINE void note_place(struct place *place, struct task_struct *task, struct task_struct *loose)
{
	place->arrival = arrival_of(task);
	struct mm_struct *mm = loose->mm;

	place->task = (u64)task;
	place->memory = (u64)mm;
	place->counters = mm ? counters_of(mm) : 0;
}

// Whether the process of the slot had one thread and rested when it was read in
// full, and has not run since. Then the values that it changes by running are as
// they were, and most of its memory need not be read; only the process itself can
// add threads. No other task got the same place in memory and was given its
// processor in the same nanosecond.
INLINE int has_not_run(struct process *slot, struct place *place, struct task_struct *task,
		       struct arguments *args)
{
	u64 differs = (place->arrival ^ last_arrival(task)) | (slot->threads ^ 1) |
		      (slot->wanted ^ args->wanted) | (slot->marks & MARK_TORN);

	return place->task == (u64)task && !differs && place->arrival;
}

// Whether the process has not run, and so still has the same memory.
INLINE int still_rests(struct place *place, struct task_struct *task)
{
	return place->arrival && place->arrival == last_arrival(task);
}

// Reads the values that other processes may change while it does not run. Returns
// whether they are as before.
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
			// Memory that is no longer its own may belong to another process.
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
	// What it lacks is read elsewhere, and may be another then.
	return !differs && !(marks & MARK_NO_RESIDENT);
}

// Changes when a thread's sums are added to its process. Read each time that it is
// asked for, where it is asked for.
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
	// Another thread is about to take its place.
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
	// A kernel thread has none; another process may have had the slot before.
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

// The threads beside the first.
INLINE void add_threads(struct process *process, struct detail *detail, struct task_struct *first,
			struct signal_struct *signal, struct arguments *args)
{
	struct task_struct *kept = bpf_task_acquire(first);
	struct bpf_iter_task it;
	struct task_struct *task;

	// It goes away.
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
	// One that ended behind the last that was met is in no sum.
	if (sequence_of(signal) != detail->sequence)
		process->marks |= MARK_TORN;
}

// Ones in each byte of a word that is not 0.
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
	// What such a thread works on follows behind its name.
	if (task->flags & PF_WQ_WORKER) {
		known[0] = bytes_in_use(name[0]);
		known[1] = bytes_in_use(name[1]);
	}
	return is_wanted(name[0], name[1], known[0], known[1]);
}

// Gives a process its slot.
INLINE void visit(struct task_struct *task, struct arguments *args)
{
	// Numbers are read faster from what the kernel vouches for. But to
	// learn whether it vouches for a pointer found there, too, the
	// verifier searches all names that it has, which takes long.
	struct task_struct *loose = bpf_rdonly_cast(task, KERNEL_TYPE_ID(struct task_struct));
	u32 key = args->processes;
	struct process *process = map_lookup(&processes, &key);
	struct place *place = map_lookup(&places, &key);

	// The kernel's idle task has no place, and no number.
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

// Whether a name may be a wanted one, where the bits of `known` count. User space
// decides where the kernel's short name is not all of it, and where letters
// beyond ASCII may fold. It belongs to one of the programs only.
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
		// A number of another thread is none of a process.
		if (task->pid == task->tgid)
			visit(task, args);
		bpf_task_release(task);
	}
	bpf_iter_num_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}
