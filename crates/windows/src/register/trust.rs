//! The test whether a library may be registered: only administrators and the user who registers it
//! may be able to change it.
//!
//! Every program that reads counters loads the library, administrators' programs, too. A user who
//! can change or replace the file could run code with the rights of administrators.

use super::invalid;
use crate::ffi;
use perfhive_contract::RegisterError;
use std::path::Path;

/// Rights to change a file: write, append, delete, change its rights or its owner.
const CHANGE_FILE: u32 = 0x2 | 0x4 | DELETE | RIGHTS | GENERIC_WRITE;
/// Rights to add, delete or replace files in the library's folder, or to change the folder itself.
const CHANGE_FOLDER: u32 = 0x2 | DELETE_CHILD | DELETE | RIGHTS | GENERIC_WRITE;
/// Rights with which a user could replace a folder on the way to the library by another folder.
const REPLACE_FOLDER: u32 = DELETE_CHILD | DELETE | RIGHTS;
const DELETE_CHILD: u32 = 0x40;
const DELETE: u32 = 0x1_0000;
/// The rights to change the list of rights, to change the owner, and to do everything.
const RIGHTS: u32 = 0x4_0000 | 0x8_0000 | 0x1000_0000;
const GENERIC_WRITE: u32 = 0x4000_0000;

/// The users and groups that may change everything anyway: the system, administrators, the built-in
/// administrator, the installer of Windows, and the owner, which is tested separately.
const TRUSTED: [&str; 9] = [
    "SY",
    "S-1-5-18",
    "BA",
    "S-1-5-32-544",
    "LA",
    "CO",
    "S-1-3-0",
    "OW",
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
];

/// Tests the library, its folder, and (except under Wine) the folders above: users other than
/// administrators and this process's user must not be able to change or replace them. A path that is
/// partial or leads to no file passes.
///
/// # Errors
/// For the first file or folder that other users may change, with the way out. Also for a file or
/// folder with an access control list that cannot be read.
pub(super) fn test(library: &Path) -> Result<(), RegisterError> {
    // Where there is no such file, readers say so; a name without a folder is looked for in the
    // folders of Windows.
    if !library.is_absolute() || !library.is_file() {
        return Ok(());
    }
    let me = ffi::own_user();
    for (depth, path) in library.ancestors().enumerate() {
        let rights = match depth {
            0 => CHANGE_FILE,
            1 => CHANGE_FOLDER,
            // Wine makes the lists of folders from their modes, without the sticky bit.
            _ if crate::is_wine() => break,
            _ => REPLACE_FOLDER,
        };
        let shown = path.display();
        let descriptor = ffi::descriptor(&path.to_string_lossy()).map_err(|code| {
            invalid(format!(
                "the access control list of {shown} cannot be read (Windows error {code})"
            ))
        })?;
        if let Some(user) = untrusted(&descriptor, rights, me.as_deref()) {
            return Err(invalid(format!(
                "{shown} may be changed by {user}, and every program that reads counters would run \
                 what is put there; copy the library to a folder below Program Files, or take the \
                 rights away (icacls \"{shown}\" shows them)"
            )));
        }
    }
    Ok(())
}

/// The first untrusted user or group in a security descriptor: its owner, or else a user or group that
/// gets any of the `rights`. [`TRUSTED`] and `me` are trusted. `None` if there is no other. A
/// descriptor that cannot be parsed counts as one that gives everybody all rights.
fn untrusted(descriptor: &str, rights: u32, me: Option<&str>) -> Option<String> {
    let is_trusted = |sid: &str| TRUSTED.contains(&sid) || me == Some(sid);
    let owner = descriptor.strip_prefix("O:").map(|rest| until(rest, &["G:", "D:", "S:"]));
    match owner {
        Some(owner) if is_trusted(owner) => {}
        owner => return Some(format!("its owner {}", owner.unwrap_or("(unknown)"))),
    }
    let Some((_, list)) = descriptor.split_once("D:") else {
        return Some("everybody".to_string());
    };
    if list.starts_with("NO_ACCESS_CONTROL") || !list.contains('(') {
        return (!list.is_empty()).then(|| "everybody".to_string());
    }
    for entry in list.split('(').skip(1) {
        let entry = entry.split(')').next().unwrap_or_default();
        let mut fields = entry.split(';');
        let mut next = || fields.next().unwrap_or_default();
        let (kind, flags, given) = (next(), next(), next());
        let sid = entry.split(';').nth(5).unwrap_or_default();
        // Only entries that allow something here count: an "inherit only" entry is for files and
        // folders that are made below this one.
        let is_allowed =
            matches!(kind, "A" | "XA" | "OA") && !pairs(flags).any(|flag| flag == "IO");
        if is_allowed && mask(given) & rights != 0 && !is_trusted(sid) {
            return Some(sid.to_string());
        }
    }
    None
}

/// The part of a text before the first occurrence of any of the words; the whole text if no word
/// occurs.
fn until<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let end = words.iter().filter_map(|word| text.find(word)).min();
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

fn pairs(text: &str) -> impl Iterator<Item = &str> {
    (0..text.len()).step_by(2).filter_map(|at| text.get(at..at + 2))
}

/// The rights that the field of an entry of an access control list gives, as bits: a number, or
/// pairs of letters. An unknown pair stands for all rights.
fn mask(text: &str) -> u32 {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).unwrap_or(u32::MAX);
    }
    let right = |pair: &str| match pair {
        "FR" => 0x12_0089,
        "FW" => 0x12_0116,
        "FX" => 0x12_00A0,
        "FA" => 0x1F_01FF,
        "GR" => 0x8000_0000,
        "GX" => 0x2000_0000,
        "GW" => GENERIC_WRITE,
        "GA" => 0x1000_0000,
        "RC" => 0x2_0000,
        "SD" => DELETE,
        "WD" => 0x4_0000,
        "WO" => 0x8_0000,
        "CC" => 0x1,
        "DC" => 0x2,
        "LC" => 0x4,
        "SW" => 0x8,
        "RP" => 0x10,
        "WP" => 0x20,
        "DT" => DELETE_CHILD,
        "LO" => 0x80,
        "CR" => 0x100,
        _ => u32::MAX,
    };
    pairs(text).fold(0, |all, pair| all | right(pair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    /// The descriptors are those of `C:\Program Files`, of `C:\`, and of folders that users can
    /// write to.
    #[test]
    fn users_who_may_change_a_library_are_found() {
        let installer = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
        let programs = format!(
            "O:{installer}D:PAI(A;;FA;;;{installer})(A;CIIO;GA;;;{installer})(A;;0x1301bf;;;SY)\
             (A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)\
             (A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)"
        );
        let root = "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;;LC;;;AU)\
                    (A;OICIIO;SDGXGWGR;;;AU)";
        for (descriptor, rights, expected) in [
            (&*programs, CHANGE_FILE, None),
            (&*programs, CHANGE_FOLDER, None),
            (root, REPLACE_FOLDER, None),
            ("O:BAD:(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1301bf;;;AU)", CHANGE_FILE, Some("AU")),
            ("O:BAD:(A;;FA;;;BA)(A;;FW;;;WD)", CHANGE_FILE, Some("WD")),
            ("O:BAD:(A;;FA;;;BA)(A;;FRFX;;;WD)", CHANGE_FILE, None),
            ("O:BAD:(D;;FA;;;WD)(A;;FA;;;BA)", CHANGE_FILE, None),
            ("O:BAD:(A;;CCDCLC;;;BU)", CHANGE_FOLDER, Some("BU")),
            ("O:BAD:(A;;CCLC;;;BU)", CHANGE_FOLDER, None),
            ("O:BAD:(A;;??;;;BU)", CHANGE_FOLDER, Some("BU")),
            (
                "O:S-1-5-21-1-2-3-1001D:(A;;FA;;;BA)",
                CHANGE_FILE,
                Some("its owner S-1-5-21-1-2-3-1001"),
            ),
            ("O:S-1-5-21-1-2-3-1000G:BUD:(A;;FA;;;S-1-5-21-1-2-3-1000)", CHANGE_FILE, None),
            ("O:BAD:NO_ACCESS_CONTROL", CHANGE_FILE, Some("everybody")),
            ("O:BA", CHANGE_FILE, Some("everybody")),
            ("", CHANGE_FILE, Some("its owner (unknown)")),
        ] {
            let me = Some("S-1-5-21-1-2-3-1000");
            let found = untrusted(descriptor, rights, me);
            assert_eq!(found.as_deref(), expected, "{descriptor} {rights:#x}");
        }
    }

    #[test]
    fn library_that_everybody_may_write_is_refused() {
        if !crate::is_wine() {
            eprintln!("this test changes the mode of a file, as Wine shows it");
            return;
        }
        // Wine shows the folders of Unix below Z:, and makes their lists from the modes.
        let name = format!("perfhive-trust-{}", std::process::id());
        let folder = Path::new(r"Z:\tmp").join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join("shop.dll");
        std::fs::write(&library, "x").unwrap();
        // `start` waits for programs of Windows only, so the shell says when it is done.
        let set_modes = |of_folder: &str, of_file: &str| {
            let mark = format!("done-{of_folder}-{of_file}");
            let done = folder.join(&mark);
            let script = format!(
                "cd /tmp/{name} && chmod {of_folder} . && chmod {of_file} shop.dll && mkdir {mark}"
            );
            let deadline = Instant::now() + Duration::from_secs(60);
            while !done.is_dir() {
                assert!(Instant::now() < deadline, "the modes are not set: {script}");
                // Wine now and then fails to start a program.
                let _ = Command::new("start").args(["/unix", "/bin/sh", "-c", &script]).status();
                let look_again = Instant::now() + Duration::from_secs(20);
                while !done.is_dir() && Instant::now() < look_again {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        };
        let mut tested = Vec::new();
        for (of_folder, of_file) in [("755", "644"), ("755", "666"), ("777", "644")] {
            set_modes(of_folder, of_file);
            tested.push(test(&library).map_err(|error| error.to_string()));
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(tested[0], Ok(()));
        for (result, place) in tested.into_iter().skip(1).zip(["shop.dll may", &name]) {
            let error = result.unwrap_err();
            assert!(error.contains("may be changed by") && error.contains(place), "{error}");
        }
    }
}
