//! Little-endian reads and writes at fixed offsets. Past the end, reads return zero and
//! writes do nothing.
//!
//! The bytes of a view are checked once when the view is made; these helpers then read without a
//! `Result`. If a check were wrong, they would return zero instead of panicking, and the fuzz
//! targets would show a wrong value.

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
        Some(chunk) => u16::from_le_bytes(*chunk),
        None => 0,
    }
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(chunk) => u32::from_le_bytes(*chunk),
        None => 0,
    }
}

#[inline(always)]
pub(crate) fn i32_at(bytes: &[u8], at: usize) -> i32 {
    u32_at(bytes, at) as i32
}

#[inline(always)]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => 0,
    }
}

#[inline(always)]
pub(crate) fn i64_at(bytes: &[u8], at: usize) -> i64 {
    u64_at(bytes, at) as i64
}

/// A 32-bit length or offset field as `usize`. On a 16-bit target a number that does not fit
/// becomes `usize::MAX`, which every bounds check refuses.
#[inline(always)]
pub(crate) fn len_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u32_at(bytes, at)).unwrap_or(usize::MAX)
}

/// Writes the bytes of a number at an offset; nothing if they do not all fit.
#[inline(always)]
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, number: [u8; N]) {
    let place = bytes.get_mut(at..at.wrapping_add(N));
    if let Some(place) = place.and_then(|place| place.first_chunk_mut::<N>()) {
        *place = number;
    }
}
