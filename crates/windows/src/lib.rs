//! The Windows side.
