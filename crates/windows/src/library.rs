//! Where a library is that is registered by its name alone, as many of Windows' own are.

/// The file of a library as it is registered: with the variables in it put in (`variable`
/// tells them), and a name without a folder found where Windows finds it. What is not found
/// stays as it is registered.
pub(crate) fn file(
    registered: &str,
    variable: impl Fn(&str) -> Option<String>,
    is_file: impl Fn(&str) -> bool,
) -> String {
    let name = with_variables(registered.trim(), &variable);
    if name.is_empty() || name.contains(['\\', '/', ':']) {
        return name;
    }
    let root = variable("SystemRoot");
    let system = root.iter().flat_map(|root| [format!(r"{root}\System32"), root.clone()]);
    let path = variable("PATH").unwrap_or_default();
    let folders = system.chain(path.split(';').map(|folder| folder.trim_matches('"').to_string()));
    let found = folders.filter(|folder| !folder.is_empty()).find_map(|folder| {
        let folder = folder.trim_end_matches('\\');
        let file = format!(r"{folder}\{name}");
        // A name without an extension is that of a DLL.
        let library = if name.contains('.') { file } else { format!("{file}.dll") };
        is_file(&library).then_some(library)
    });
    found.unwrap_or(name)
}

/// A text in which `%NAME%` stands for a variable; what is none stays.
fn with_variables(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        match behind.split_once('%').and_then(|(name, rest)| Some((variable(name)?, rest))) {
            Some((value, behind)) => {
                out.push_str(&value);
                rest = behind;
            }
            None => {
                out.push('%');
                rest = behind;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_where_windows_finds_them() {
        let variable = |name: &str| match name.to_ascii_lowercase().as_str() {
            "systemroot" => Some(r"C:\Windows".to_string()),
            "path" => Some(r#"C:\Windows;;"D:\Tools\";D:\More"#.to_string()),
            _ => None,
        };
        let files =
            [r"C:\Windows\System32\perfproc.dll", r"C:\Windows\winspool.drv", r"D:\Tools\shop.dll"];
        let file = |text: &str| file(text, variable, |file| files.contains(&file));
        for (registered, wanted) in [
            ("perfproc.dll", files[0]),
            (" perfproc ", files[0]),
            ("winspool.drv", files[1]),
            ("shop", files[2]),
            (r"%SystemRoot%\system32\perfts.dll", r"C:\Windows\system32\perfts.dll"),
            (r"C:\a\b.dll", r"C:\a\b.dll"),
            // What is not found, or is no variable, is told as it is registered.
            ("nowhere.dll", "nowhere.dll"),
            ("%nothing%", "%nothing%"),
            ("100%", "100%"),
            ("%%SystemRoot%", r"%C:\Windows"),
            ("", ""),
        ] {
            assert_eq!(file(registered), wanted, "{registered}");
        }
    }
}
