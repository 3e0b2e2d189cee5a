//! Wine, and what its replies need.

pub(crate) mod layout;

#[cfg(windows)]
impl layout::Layout {
    /// The layout of replies of the running system.
    pub(crate) fn of_system() -> Self {
        layout::given(is_wine())
    }
}

/// Whether this program runs under Wine: whether `ntdll` exports `wine_get_version`.
#[cfg(windows)]
#[must_use]
pub fn is_wine() -> bool {
    use std::sync::OnceLock;
    static WINE: OnceLock<bool> = OnceLock::new();
    *WINE.get_or_init(|| crate::ffi::exports(c"ntdll.dll", c"wine_get_version"))
}

#[cfg(test)]
mod tests {
    /// The compiler keeps other files than these two from using the repair; this test checks that
    /// these two use it in one place, behind one condition.
    #[test]
    fn the_repair_is_reached_in_one_place_behind_one_condition() {
        let files = [include_str!("wine/layout.rs"), include_str!("wine.rs")];
        let code = files.map(|file| file.split_once("#[cfg(test)]\nmod tests").unwrap().0).concat();
        let lines = |word: &str| -> Vec<&str> {
            code.lines().map(str::trim).filter(|line| line.contains(word)).collect()
        };
        let made = "if is_exported { Layout::Wine(Seen(())) } else { Layout::Windows }";
        assert_eq!(lines("Seen(())"), ["pub(crate) struct Seen(());", made], "in one place");
        let gate =
            ["pub(super) fn given(is_exported: bool) -> Layout {", "layout::given(is_wine())"];
        assert_eq!(lines("given("), gate, "which is reached in one way");
        let question = r#"crate::ffi::exports(c"ntdll.dll", c"wine_get_version")"#;
        let (_, body) = code.split_once("pub fn is_wine() -> bool {").unwrap();
        let body: Vec<&str> = body.lines().map(str::trim).take(4).collect();
        let answer = format!("*WINE.get_or_init(|| {question})");
        assert_eq!(body[3], answer, "and asks for nothing else: {body:?}");
    }

    /// The running system's layout follows from the export alone.
    #[cfg(windows)]
    #[test]
    fn the_repair_is_used_only_if_ntdll_exports_wines_function() {
        use super::layout::{Layout, given};
        let exported = crate::ffi::exports(c"ntdll.dll", c"wine_get_version");
        assert_eq!(super::is_wine(), exported);
        assert_eq!(Layout::of_system(), given(exported));
        // The check compares whole names, and is false for a missing one.
        assert!(crate::ffi::exports(c"ntdll.dll", c"NtQuerySystemInformation"));
        assert!(!crate::ffi::exports(c"ntdll.dll", c"wine_get_version_"));
        assert!(!crate::ffi::exports(c"no-such.dll", c"wine_get_version"));
    }
}
