//! A place for the newest value of something, for readers that each say what
//! they look at.
//!
//! Every [`Reader`] has a cell of its own. It notes there the address of the
//! value that it is about to look at, and looks whether that is the newest
//! still; who puts a newer one in its place keeps the older one for as long as
//! a cell names it. So reading is one write to memory that nobody else writes,
//! and no count is shared. This is the scheme of hazard pointers (M. M. Michael,
//! "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004), with
//! one pointer for each reader.
//!
//! Who looks into a cell takes its memory away from the processor that writes it,
//! and the next write there waits for it to come back: twice the time of reading
//! where every new value meant a look. So the older values pile up for a while,
//! until there are [`MANY_REPLACED`], or somebody needs their memory.

use super::sync::{AtomicPtr, AtomicU64, Mutex, MutexGuard, full_fence};
use crate::growth::note_growth;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// The newest value, if there is one.
#[derive(Debug)]
pub(super) struct Place<T> {
    newest: Newest<T>,
    owned: Mutex<Owned<T>>,
}

/// What readers look at, in a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Newest<T> {
    /// Number of the value; 0 where there is none.
    number: AtomicU64,
    value: AtomicPtr<T>,
}

#[derive(Debug)]
struct Owned<T> {
    /// What `Newest` points to, and its number.
    newest: Option<(u64, Arc<T>)>,
    /// What it pointed to before, and a reader may look at still.
    replaced: Vec<Arc<T>>,
    cells: Vec<Arc<Cell<T>>>,
    /// With so many cells it is time to look for those without a reader.
    many: usize,
}

/// The value that a reader looks at: null for none, [`gone`] in the end.
#[derive(Debug)]
#[repr(align(128))]
struct Cell<T>(AtomicPtr<T>);

/// What a reader writes last, and only then: whoever reads it knows that what
/// the reader did is done, which a count of the cell's owners would not tell. No
/// value has this address, since there are counts in front of it.
fn gone<T>() -> *mut T {
    null_mut::<T>().wrapping_byte_add(1)
}

/// Cells before those without a reader are looked for the first time.
const MANY: usize = 16;

/// Replaced values that are kept at most before the cells are looked at.
pub(super) const MANY_REPLACED: usize = 16;

impl<T> Default for Place<T> {
    fn default() -> Self {
        let newest = Newest { number: AtomicU64::new(0), value: AtomicPtr::new(null_mut()) };
        let (replaced, cells) = (Vec::new(), Vec::new());
        let owned = Owned { newest: None, replaced, cells, many: MANY };
        Self { newest, owned: Mutex::new(owned) }
    }
}

impl<T> Owned<T> {
    /// Lets go of cells without a reader, and of what no reader looks at any
    /// more.
    fn let_go(&mut self) {
        // Ordered behind the change of `Newest`, as the other side is.
        full_fence();
        self.cells.retain(|cell| cell.0.load(Ordering::SeqCst) != gone());
        let cells = &self.cells;
        self.replaced.retain(|value| {
            let address = Arc::as_ptr(value).cast_mut();
            cells.iter().any(|cell| cell.0.load(Ordering::SeqCst) == address)
        });
    }

    /// Whether a value with this number is newer than the newest one.
    fn is_newer(&self, number: u64) -> bool {
        self.newest.as_ref().is_none_or(|(there, _)| *there < number)
    }
}

impl<T> Place<T> {
    /// Puts a value in, unless one with this number or a higher one is there.
    /// Where nobody reads, nothing is held.
    pub(super) fn put(&self, number: u64, value: &Arc<T>) {
        let mut owned = self.lock();
        if owned.cells.is_empty() {
            if owned.newest.is_some() {
                self.exchange(&mut owned, None);
                owned.let_go();
            }
        } else if owned.is_newer(number) {
            self.exchange(&mut owned, Some((number, Arc::clone(value))));
            if owned.replaced.len() >= MANY_REPLACED {
                owned.let_go();
            }
        }
    }

    /// Takes the value out.
    pub(super) fn clear(&self) {
        let mut owned = self.lock();
        self.exchange(&mut owned, None);
        owned.let_go();
    }

    fn lock(&self) -> MutexGuard<'_, Owned<T>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of replaced values that no reader looks at any more. Answers whether
    /// there are readers, or such values, still.
    pub(super) fn let_go(&self) -> bool {
        let mut owned = self.lock();
        // Where there is nothing to let go of, the cells are left alone: that a
        // reader goes shows in their counts, too.
        let goes = |cell: &Arc<Cell<T>>| Arc::strong_count(cell) == 1;
        if !owned.replaced.is_empty() || owned.cells.iter().all(goes) {
            owned.let_go();
        }
        !(owned.cells.is_empty() && owned.replaced.is_empty())
    }

    /// Exchanges the value; what was there before is kept for now.
    fn exchange(&self, owned: &mut Owned<T>, new: Option<(u64, Arc<T>)>) {
        let (number, address) = match &new {
            Some((number, value)) => (*number, Arc::as_ptr(value).cast_mut()),
            None => (0, null_mut()),
        };
        // Nothing may fail between the two steps.
        let room = owned.replaced.capacity();
        owned.replaced.reserve(1);
        if owned.replaced.capacity() > room {
            note_growth();
        }
        self.newest.value.store(address, Ordering::SeqCst);
        // Behind the value: who sees the number finds that value or a later one.
        self.newest.number.store(number, Ordering::Release);
        let old = std::mem::replace(&mut owned.newest, new);
        owned.replaced.extend(old.map(|(_, value)| value));
    }
}

/// One that looks at the values of a place, one at a time.
#[derive(Debug)]
pub(super) struct Reader<T> {
    place: Arc<Place<T>>,
    cell: Arc<Cell<T>>,
}

impl<T> Reader<T> {
    /// A reader. `now` answers what is the newest value at present, with its
    /// number; it is asked when whatever is put in later will be seen, and
    /// nothing can be put in or cleared meanwhile.
    pub(super) fn new(place: Arc<Place<T>>, now: impl FnOnce() -> Option<(u64, Arc<T>)>) -> Self {
        let cell = Arc::new(Cell(AtomicPtr::new(null_mut())));
        {
            let mut owned = place.lock();
            if owned.cells.len() >= owned.many {
                owned.let_go();
                owned.many = MANY.max(2 * owned.cells.len());
            }
            owned.cells.push(Arc::clone(&cell));
            // All that there will be, but for those that readers look at.
            owned.replaced.reserve(MANY_REPLACED);
            if let Some((number, value)) = now().filter(|(number, _)| owned.is_newer(*number)) {
                place.exchange(&mut owned, Some((number, value)));
            }
        }
        Self { place, cell }
    }

    /// The newest value, if its number is higher than this: nearly always. If
    /// the place is cleared meanwhile, it may be one with a lower number.
    #[inline]
    pub(super) fn newer_than(&mut self, number: u64) -> Option<Kept<'_, T>> {
        let newest = &self.place.newest;
        if newest.number.load(Ordering::Acquire) <= number {
            return None;
        }
        let mut address = newest.value.load(Ordering::Acquire);
        loop {
            self.cell.0.store(address, Ordering::SeqCst);
            full_fence();
            let now = newest.value.load(Ordering::SeqCst);
            if now == address {
                break;
            }
            address = now;
        }
        // Nothing was noted if there is nothing.
        Some(Kept { value: NonNull::new(address)?, cell: &self.cell })
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        // Release, as where a value is dropped; if one was forgotten, it goes
        // with this.
        self.cell.0.store(gone(), Ordering::Release);
    }
}

/// A value that stays for as long as this does.
#[derive(Debug)]
pub(super) struct Kept<'a, T> {
    /// Not a reference: the value may end as soon as the cell is empty, while
    /// this is being dropped.
    value: NonNull<T>,
    cell: &'a Cell<T>,
}

// SAFETY: it is a shared reference to a `T` by another name, and a cell of
// atomics; such a reference may go to other threads where `T` is `Sync`. The
// value's end is left to `Place`, which needs `T: Send` to be shared at all.
unsafe impl<T: Send + Sync> Send for Kept<'_, T> {}
// SAFETY: as above; `&Kept` gives `&T` and nothing else.
unsafe impl<T: Send + Sync> Sync for Kept<'_, T> {}

impl<T> Deref for Kept<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the address came from `Arc::as_ptr`, so it is valid and
        // aligned for as long as that `Arc` is owned, and nobody has the value
        // mutably meanwhile, since `Arc` gives it so to a sole owner only. The
        // place owns it: while it is the newest one in `Owned::newest`, then in
        // `Owned::replaced` until `let_go` finds no cell with its address.
        //
        // `let_go` cannot miss this one's cell. All four accesses are
        // sequentially consistent: the reader wrote the cell and then found the
        // address still in `Newest`; the writer, or another one who had `Owned`
        // locked before, wrote `Newest`, and then the writer reads the cells. Had
        // the cell been read before the reader wrote it, then `Newest` was written
        // before the reader looked there again, who would have found another
        // address. Nor can an address be confused: one that is met there again is
        // that of a value that is the newest again.
        //
        // The cell is in `Owned::cells` from before the reader existed until
        // that is gone, which `self` borrows; it names this address until `self`
        // is dropped, since the others who write it need the reader mutably.
        unsafe { self.value.as_ref() }
    }
}

impl<T> Drop for Kept<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: what was read of the value was read before its end.
        self.cell.0.store(null_mut(), Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn place() -> (Arc<Place<String>>, Reader<String>) {
        let place = Arc::new(Place::default());
        let reader = Reader::new(Arc::clone(&place), || None);
        (place, reader)
    }

    fn value(text: &str) -> Arc<String> {
        Arc::new(text.to_string())
    }

    #[test]
    fn only_what_is_newer_is_got() {
        let (place, mut reader) = place();
        assert!(reader.newer_than(0).is_none());
        place.put(3, &value("three"));
        place.put(2, &value("two"));
        place.put(3, &value("another three"));
        assert_eq!(reader.newer_than(2).unwrap().as_str(), "three");
        assert!(reader.newer_than(3).is_none());
        place.clear();
        assert!(reader.newer_than(0).is_none());
        // After that, numbers may be lower.
        place.put(1, &value("one"));
        assert_eq!(reader.newer_than(0).unwrap().as_str(), "one");
    }

    #[test]
    fn what_is_looked_at_stays_and_the_rest_goes() {
        let (place, mut reader) = place();
        let mut other = Reader::new(Arc::clone(&place), || None);
        let values = ["a", "b", "c", "d"].map(value);
        place.put(1, &values[0]);
        let first = reader.newer_than(0).unwrap();
        place.put(2, &values[1]);
        let second = other.newer_than(0).unwrap();
        place.put(3, &values[2]);
        let owners = || {
            place.let_go();
            values.each_ref().map(Arc::strong_count)
        };
        assert_eq!(owners(), [2, 2, 2, 1]);
        assert_eq!((first.as_str(), second.as_str()), ("a", "b"));
        drop(second);
        place.put(4, &values[3]);
        assert_eq!(owners(), [2, 1, 1, 2]);
        assert_eq!(first.as_str(), "a");
        drop(first);
        place.clear();
        assert_eq!(owners(), [1; 4]);
    }

    #[test]
    fn a_forgotten_value_stays_until_the_reader_looks_at_another() {
        let (place, mut reader) = place();
        let (first, second) = (value("first"), value("second"));
        place.put(1, &first);
        std::mem::forget(reader.newer_than(0));
        place.put(2, &second);
        place.let_go();
        assert_eq!(Arc::strong_count(&first), 2);
        assert_eq!(reader.newer_than(1).unwrap().as_str(), "second");
        place.clear();
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn nothing_is_held_where_nobody_reads() {
        let place = Arc::new(Place::default());
        let there = value("there");
        place.put(1, &there);
        assert_eq!(Arc::strong_count(&there), 1);
        // Who comes later gets what is there by then.
        let mut reader = Reader::new(Arc::clone(&place), || Some((1, Arc::clone(&there))));
        assert_eq!(reader.newer_than(0).unwrap().as_str(), "there");
    }

    #[test]
    fn nothing_is_held_when_the_last_reader_has_gone() {
        let (place, mut reader) = place();
        let values = ["a", "b", "c"].map(value);
        place.put(1, &values[0]);
        assert!(reader.newer_than(0).is_some());
        drop(reader);
        place.put(2, &values[1]);
        place.let_go();
        place.put(3, &values[2]);
        assert_eq!(values.each_ref().map(Arc::strong_count), [1; 3]);
    }

    #[test]
    fn what_nobody_looks_at_goes_before_there_is_much_of_it() {
        let (place, mut reader) = place();
        let values: Vec<_> = (0..10 * MANY_REPLACED).map(|_| value("one")).collect();
        let held = || values.iter().filter(|value| Arc::strong_count(value) > 1).count();
        let mut most = 0;
        let mut number = 0;
        for value in &values {
            place.put(number + 1, value);
            number += 1;
            assert!(reader.newer_than(number - 1).is_some());
            most = most.max(held());
        }
        // Not after each, which is the point of it.
        assert_eq!(most, MANY_REPLACED);
        place.let_go();
        assert_eq!(held(), 1);
    }

    #[test]
    fn cells_go_with_their_readers() {
        let (place, mut reader) = place();
        for _ in 0..10 * MANY {
            drop(Reader::new(Arc::clone(&place), || None));
        }
        assert!(place.owned.lock().unwrap().cells.len() <= MANY + 1);
        place.put(1, &value("there"));
        place.put(2, &value("there now"));
        place.let_go();
        assert_eq!(place.owned.lock().unwrap().cells.len(), 1);
        assert!(reader.newer_than(0).is_some());
        std::mem::forget(reader.newer_than(0));
        drop(reader);
        place.put(3, &value("last"));
        place.clear();
        assert_eq!(place.owned.lock().unwrap().cells.len(), 0);
        assert_eq!(place.owned.lock().unwrap().replaced.len(), 0);
    }

    /// A value that shows if it was changed or ended while it was looked at.
    struct Twice(u64, u64);

    #[test]
    fn many_threads_never_see_a_value_that_is_used_again() {
        const VALUES: u64 = if cfg!(miri) { 60 } else { 20_000 };
        let place = Arc::new(Place::<Twice>::default());
        let readers: Vec<_> = (0..3).map(|_| Reader::new(Arc::clone(&place), || None)).collect();
        std::thread::scope(|scope| {
            for mut reader in readers {
                scope.spawn(move || {
                    let mut last = 0;
                    while last < VALUES {
                        let Some(kept) = reader.newer_than(last) else {
                            std::thread::yield_now();
                            continue;
                        };
                        assert!(kept.0 > last && kept.0 == kept.1);
                        last = kept.0;
                    }
                });
            }
            // As the hub does: a value that nobody else owns is used again.
            let mut pool: Vec<Arc<Twice>> = Vec::new();
            for number in 1..=VALUES {
                let free = pool.iter_mut().position(|value| Arc::get_mut(value).is_some());
                let mut value =
                    free.map_or_else(|| Arc::new(Twice(0, 0)), |at| pool.swap_remove(at));
                if let Some(value) = Arc::get_mut(&mut value) {
                    value.0 = number;
                    value.1 = number;
                }
                place.put(number, &value);
                pool.push(value);
            }
            // One that is looked at by each reader, the newest, one more, and
            // those that were replaced since the cells were last looked at.
            assert!(pool.len() <= 5 + MANY_REPLACED, "{} values", pool.len());
        });
    }
}
