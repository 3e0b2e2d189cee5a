//! Owners of files, by security identifier.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::{null_mut, slice_from_raw_parts};
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    GetLengthSid, GetTokenInformation, IsWellKnownSid, OWNER_SECURITY_INFORMATION, PSID,
    TOKEN_INFORMATION_CLASS, TOKEN_OWNER, TOKEN_QUERY, TOKEN_USER, TokenOwner, TokenUser,
    WinBuiltinAdministratorsSid, WinLocalSystemSid,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// The length in bytes of the longest identifier (`SECURITY_MAX_SID_SIZE`).
const LONGEST: usize = 68;

/// A user, or a group that owns files: a security identifier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct User(Box<[u8]>);

impl User {
    /// The [`rank`](Self::rank) of others than this process's user, the system and the group of
    /// administrators.
    pub(crate) const STRANGER: u8 = 2;

    /// The owner of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        let (mut owner, mut descriptor): (PSID, _) = (null_mut(), null_mut());
        // SAFETY: the file is open for reading; `owner` and `descriptor` are places for answers,
        // and no other is requested.
        let code = unsafe {
            GetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                OWNER_SECURITY_INFORMATION,
                &mut owner,
                null_mut(),
                null_mut(),
                null_mut(),
                &mut descriptor,
            )
        };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code.cast_signed()));
        }
        // SAFETY: on success `owner` points into the descriptor.
        let user = unsafe { Self::copy(owner) };
        // SAFETY: allocated by the call above, and no longer used.
        unsafe { LocalFree(descriptor) };
        user.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a file without an owner"))
    }

    /// The user with this identifier; `None` for NULL.
    ///
    /// # Safety
    /// `sid` is NULL or points to an identifier.
    unsafe fn copy(sid: PSID) -> Option<Self> {
        if sid.is_null() {
            return None;
        }
        // SAFETY: a valid identifier, as promised, has the length that it states.
        let bytes = unsafe {
            let length = GetLengthSid(sid) as usize;
            &*slice_from_raw_parts(sid.cast::<u8>(), length.min(LONGEST))
        };
        Some(Self(bytes.into()))
    }

    /// The user for whom this process acts, and the owner of files that it creates. For an
    /// administrator the owner may be the group of all administrators.
    fn here() -> &'static [Self] {
        static HERE: OnceLock<Vec<User>> = OnceLock::new();
        HERE.get_or_init(|| {
            let mut token: HANDLE = null_mut();
            // SAFETY: a constant stands for this process; `token` is a place for
            // the answer.
            if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token) } == 0 {
                return Vec::new();
            }
            let users = [TokenUser, TokenOwner].map(|class| Self::of_token(token, class));
            // SAFETY: opened above and closed once.
            unsafe { CloseHandle(token) };
            users.into_iter().flatten().collect()
        })
    }

    /// The user that a process's token names: by `class` its user, or the owner of its new files.
    fn of_token(token: HANDLE, class: TOKEN_INFORMATION_CLASS) -> Option<Self> {
        // Room for either structure and the identifier behind it, aligned for the pointer at its
        // start.
        let mut room = [0u64; 16];
        let size = size_of_val(&room) as u32;
        let mut used = 0;
        // SAFETY: the buffer has the given number of bytes, and both are borrowed exclusively; the
        // token is open.
        let told =
            unsafe { GetTokenInformation(token, class, room.as_mut_ptr().cast(), size, &mut used) };
        if told == 0 {
            return None;
        }
        const _: () = assert!(size_of::<TOKEN_USER>() + LONGEST <= 128);
        // SAFETY: the buffer holds the structure of its class, which begins with a pointer to an
        // identifier in the same buffer.
        unsafe {
            let sid = if class == TokenUser {
                (*room.as_ptr().cast::<TOKEN_USER>()).User.Sid
            } else {
                (*room.as_ptr().cast::<TOKEN_OWNER>()).Owner
            };
            Self::copy(sid)
        }
    }

    /// Whether this is the user for whom this process acts, or the owner of files that it creates.
    pub(crate) fn is_here(&self) -> bool {
        Self::here().contains(self)
    }

    /// Whether this is the system or the group of administrators.
    fn looks_after_the_machine(&self) -> bool {
        let sid = self.0.as_ptr().cast_mut().cast();
        let known = [WinLocalSystemSid, WinBuiltinAdministratorsSid];
        // SAFETY: a whole identifier, copied from one of Windows; it is only read.
        known.iter().any(|known| unsafe { IsWellKnownSid(sid, *known) } != 0)
    }

    /// The rank of this user's files if several users claim the same category: 0 for the system and
    /// the group of administrators, 1 for this process's user, 2 for others.
    pub(crate) fn rank(&self) -> u8 {
        match self.looks_after_the_machine() {
            true => 0,
            false if self.is_here() => 1,
            false => Self::STRANGER,
        }
    }
}

#[cfg(feature = "reader")]
impl User {
    /// The user that this process acts for. `None` if it cannot be read.
    pub(crate) fn this() -> Option<Self> {
        Self::here().first().cloned()
    }

    /// Whether a file of this user is accepted in a folder of `owner`: if both are the same, or if
    /// this is the system or the group of administrators, which Windows makes the owner of files
    /// that an administrator creates.
    pub(crate) fn may_be_in_folder_of(&self, owner: &Self) -> bool {
        self == owner || self.looks_after_the_machine()
    }
}

impl fmt::Display for User {
    /// Writes the identifier as text: `S-1-5-21-...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(([revision, _, authority @ ..], rest)) = self.0.split_first_chunk::<8>() else {
            return f.write_str("unknown");
        };
        let authority = authority.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        write!(f, "S-{revision}-{authority}")?;
        let (parts, _) = rest.as_chunks::<4>();
        parts.iter().try_for_each(|part| write!(f, "-{}", u32::from_le_bytes(*part)))
    }
}
