//! Texts that many owners share.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A text, or bytes, allocated once and shared by its clones. Cloning and hashing take the same
/// short time for any length. This matters because a name in a hostile block may be as long as the
/// block, and every instance may have it as the name of its parent.
pub struct SharedText<T: ?Sized> {
    inner: Arc<T>,
    hash: u64,
}

/// The hash key: one for the whole process, so that equal texts have equal hashes.
fn key() -> &'static RandomState {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    KEY.get_or_init(RandomState::new)
}

impl<T: ?Sized + Hash> SharedText<T> {
    fn new(inner: Arc<T>) -> Self {
        let hash = key().hash_one(&*inner);
        Self { inner, hash }
    }
}

impl SharedText<str> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self
    }

    /// The same text as bytes, which are still shared. The bytes keep the hash of the text, so they
    /// equal only bytes that were made from a text as well.
    pub(crate) fn into_bytes(self) -> SharedText<[u8]> {
        SharedText { inner: self.inner.into(), hash: self.hash }
    }
}

impl<T: ?Sized> Deref for SharedText<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Clone for SharedText<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), hash: self.hash }
    }
}

impl<T: ?Sized + PartialEq> PartialEq for SharedText<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.inner, &other.inner) || self.inner == other.inner)
    }
}

impl<T: ?Sized + Eq> Eq for SharedText<T> {}

impl<T: ?Sized> Hash for SharedText<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<T: ?Sized + PartialOrd> PartialOrd for SharedText<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.inner.partial_cmp(&other.inner)
    }
}

impl<T: ?Sized + Ord> Ord for SharedText<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.inner.cmp(&other.inner)
    }
}

impl PartialEq<str> for SharedText<str> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for SharedText<str> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl From<&str> for SharedText<str> {
    fn from(text: &str) -> Self {
        Self::new(text.into())
    }
}

impl From<String> for SharedText<str> {
    fn from(text: String) -> Self {
        Self::new(text.into())
    }
}

impl From<&[u8]> for SharedText<[u8]> {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes.into())
    }
}

impl fmt::Display for SharedText<str> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for SharedText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.inner, f)
    }
}
