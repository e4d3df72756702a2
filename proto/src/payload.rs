//! Free-form and large data: a memfd that nobody can change any more.
//!
//! Words are small and typed; arguments, results, prompts and envelopes travel beside
//! them as sealed memory. Whoever receives one checks its seals and its size *before*
//! looking at a byte, so that what was checked is what is used.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags};

/// The largest payload, in bytes: 16 MiB.
pub const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// The seals that make memory constant for everybody, forever.
pub const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// Memory that cannot change: its bytes, its size and its seals are fixed.
#[derive(Debug)]
pub struct Sealed {
    fd: OwnedFd,
    len: usize,
}

/// Why a descriptor is no payload.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// It is not a memfd, or lacks a seal.
    #[error("a descriptor came that is not sealed memory: it has the seals {0:?}, needed are {SEALS:?}")]
    NotSealed(SealFlags),
    /// It is larger than [`MAX_PAYLOAD`].
    #[error("a payload of {0} bytes is over the limit of {MAX_PAYLOAD}")]
    TooLarge(u64),
    /// The kernel said no.
    #[error("sealed memory: {0}")]
    Io(#[from] io::Error),
}

impl Sealed {
    /// Copies `bytes` into sealed memory.
    ///
    /// # Errors
    /// When there are more than [`MAX_PAYLOAD`] bytes, or the kernel has no memory or descriptor left.
    pub fn new(bytes: &[u8]) -> Result<Self, PayloadError> {
        if bytes.len() > MAX_PAYLOAD {
            return Err(PayloadError::TooLarge(bytes.len() as u64));
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know how to make a memfd that can never be executed.
        let fd = rustix::fs::memfd_create("metnos", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| rustix::fs::memfd_create("metnos", flags))
            .map_err(io::Error::from)?;
        let mut done = 0;
        while done < bytes.len() {
            done += rustix::io::write(&fd, &bytes[done..]).map_err(io::Error::from)?;
        }
        rustix::fs::fcntl_add_seals(&fd, SEALS).map_err(io::Error::from)?;
        Ok(Self { fd, len: bytes.len() })
    }

    /// Accepts a received descriptor, if it is sealed memory of a bearable size.
    ///
    /// # Errors
    /// [`PayloadError::NotSealed`] for anything that could still change, [`PayloadError::TooLarge`].
    pub fn from_fd(fd: OwnedFd) -> Result<Self, PayloadError> {
        let seals = rustix::fs::fcntl_get_seals(&fd).unwrap_or(SealFlags::empty());
        if !seals.contains(SEALS) {
            return Err(PayloadError::NotSealed(seals));
        }
        let size = rustix::fs::fstat(&fd).map_err(io::Error::from)?.st_size;
        match usize::try_from(size) {
            Ok(len) if len <= MAX_PAYLOAD => Ok(Self { fd, len }),
            _ => Err(PayloadError::TooLarge(size.unsigned_abs())),
        }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of the bytes.
    ///
    /// # Errors
    /// When the kernel cannot read its own memory.
    pub fn read(&self) -> Result<Vec<u8>, PayloadError> {
        let mut bytes = vec![0; self.len];
        let mut done = 0;
        while done < self.len {
            match rustix::io::pread(&self.fd, &mut bytes[done..], done as u64).map_err(io::Error::from)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                read => done += read,
            }
        }
        Ok(bytes)
    }

    /// Another descriptor for the same sealed memory: to keep one and hand on one.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn share(&self) -> Result<Self, PayloadError> {
        Ok(Self { fd: self.fd.try_clone()?, len: self.len })
    }
}

impl AsFd for Sealed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_sealed_can_be_read_and_no_longer_written() {
        let sealed = Sealed::new(b"words").unwrap();
        assert_eq!(sealed.read().unwrap(), b"words");
        assert!(rustix::io::pwrite(&sealed, b"W", 0).is_err());
        assert!(rustix::fs::ftruncate(&sealed, 1).is_err());
        assert_eq!(Sealed::from_fd(sealed.share().unwrap().fd).unwrap().len(), 5);
    }

    #[test]
    fn memory_that_could_still_change_is_refused() {
        let open = rustix::fs::memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::io::write(&open, b"words").unwrap();
        assert!(matches!(Sealed::from_fd(open.try_clone().unwrap()), Err(PayloadError::NotSealed(_))));
        rustix::fs::fcntl_add_seals(&open, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE).unwrap();
        assert!(matches!(Sealed::from_fd(open), Err(PayloadError::NotSealed(_))), "one seal is missing");
        let (pipe, _other) = rustix::pipe::pipe().unwrap();
        assert!(matches!(Sealed::from_fd(pipe), Err(PayloadError::NotSealed(_))));
    }

    #[test]
    fn a_payload_may_be_exactly_the_limit_and_not_a_byte_more() {
        let bytes = vec![7; MAX_PAYLOAD + 1];
        assert_eq!(Sealed::new(&bytes[..MAX_PAYLOAD]).unwrap().len(), MAX_PAYLOAD);
        assert!(matches!(Sealed::new(&bytes), Err(PayloadError::TooLarge(_))));
        let large = rustix::fs::memfd_create("large", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&large, bytes.len() as u64).unwrap();
        rustix::fs::fcntl_add_seals(&large, SEALS).unwrap();
        assert!(matches!(Sealed::from_fd(large), Err(PayloadError::TooLarge(_))));
    }
}
