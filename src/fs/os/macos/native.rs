//! Calls of macOS that no library offers: four of them, each made in one place, on numbers and buffers of its own.
#![expect(unsafe_code, reason = "calls of the system's library that no crate wraps")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::ptr;

use rustix::io::Errno;

/// `ACL_TYPE_EXTENDED` of `sys/acl.h`.
const EXTENDED: c_int = 0x100;

// `sys/acl.h`: a list is an opaque pointer, and it and its text are freed by `acl_free`.
unsafe extern "C" {
    fn acl_get_fd_np(file: c_int, kind: c_int) -> *mut c_void;
    fn acl_to_text(list: *mut c_void, length: *mut isize) -> *mut c_char;
    fn acl_free(what: *mut c_void) -> c_int;
}

/// The access control list of a file or folder as text; `None` if there is none, or none can be.
pub(super) fn access_list(file: &File) -> io::Result<Option<String>> {
    // SAFETY: it takes numbers, and returns an owned list or null.
    let list = unsafe { acl_get_fd_np(file.as_raw_fd(), EXTENDED) };
    if list.is_null() {
        let error = io::Error::last_os_error();
        return match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::OPNOTSUPP | Errno::NOTSUP) => Ok(None),
            _ => Err(error),
        };
    }
    // SAFETY: the list is valid until it is freed below; without a place for its length the text ends with a NUL.
    let text = unsafe { acl_to_text(list, ptr::null_mut()) };
    let copied = if text.is_null() {
        Err(io::Error::last_os_error())
    } else {
        // SAFETY: it is not null, ends with a NUL, and is freed only after it was copied.
        let copied = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: it is owned, and not used any more.
        unsafe { acl_free(text.cast()) };
        Ok(copied)
    };
    // SAFETY: it is owned, and not used any more.
    unsafe { acl_free(list) };
    copied.map(Some)
}

/// Sets the flags of a file or folder.
pub(super) fn set_flags(file: &File, flags: u32) -> io::Result<()> {
    // SAFETY: it takes numbers.
    match unsafe { libc::fchflags(file.as_raw_fd(), flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A text that the kernel tells by this name.
pub(super) fn text_of(name: &CStr) -> io::Result<String> {
    let mut buffer = [0_u8; 128];
    let mut length = buffer.len();
    // SAFETY: it writes at most `length` bytes to the buffer, and reads the name up to its NUL.
    let told =
        unsafe { libc::sysctlbyname(name.as_ptr(), buffer.as_mut_ptr().cast(), &raw mut length, ptr::null_mut(), 0) };
    if told != 0 {
        return Err(io::Error::last_os_error());
    }
    let text = CStr::from_bytes_until_nul(&buffer).map_err(io::Error::other)?;
    Ok(text.to_string_lossy().into_owned())
}

/// Returns whether this process was started with SIGHUP ignored, as `nohup` does.
pub(in crate::fs::os) fn ignores_hang_up() -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action it only writes the present one to the buffer, of which all zeros are valid.
    let now = unsafe {
        if libc::sigaction(libc::SIGHUP, ptr::null(), now.as_mut_ptr()) != 0 {
            return false;
        }
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}
