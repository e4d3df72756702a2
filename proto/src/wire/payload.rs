//! Free-form and large data: a memfd that nobody can change any more.
//!
//! Words are small and typed; arguments, results, prompts and envelopes travel beside
//! them as sealed memory. Anyone who receives one checks its seals and its size *before*
//! looking at a byte, so that what was checked is what is used.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags};

use crate::ids::{Blake3, Digesting};

/// The largest payload that is read at once, in bytes: 16 MiB.
pub const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// The largest payload of all, in bytes: a file of 20 MiB, which nobody reads but in pieces ([`Sealed::read_at`]).
pub const MAX_FILE: usize = 20 * 1024 * 1024;

/// How much of a file is held at once by those who pass it on.
pub const FILE_PIECE: usize = 64 * 1024;

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
    /// It is larger than its limit.
    #[error("a payload of {bytes} bytes is over the limit of {most}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        most: usize,
    },
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
        let mut filling = Filling::new(MAX_PAYLOAD)?;
        filling.push(bytes)?;
        filling.seal()
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
            Ok(len) if len <= MAX_FILE => Ok(Self { fd, len }),
            _ => Err(PayloadError::TooLarge { bytes: size.unsigned_abs(), most: MAX_FILE }),
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
    /// When there are more than [`MAX_PAYLOAD`]: a file is read in pieces. When the kernel cannot read its own memory.
    pub fn read(&self) -> Result<Vec<u8>, PayloadError> {
        if self.len > MAX_PAYLOAD {
            return Err(PayloadError::TooLarge { bytes: self.len as u64, most: MAX_PAYLOAD });
        }
        let mut bytes = vec![0; self.len];
        let mut done = 0;
        while done < self.len {
            match self.read_at(&mut bytes[done..], done)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                read => done += read,
            }
        }
        Ok(bytes)
    }

    /// Copies bytes from `at` on into `piece`; how many. 0 at the end, and for an empty piece.
    ///
    /// # Errors
    /// When the kernel cannot read its own memory.
    pub fn read_at(&self, piece: &mut [u8], at: usize) -> Result<usize, PayloadError> {
        Ok(rustix::io::pread(&self.fd, piece, at as u64).map_err(io::Error::from)?)
    }

    /// The digest of the bytes, read in pieces.
    ///
    /// # Errors
    /// When the kernel cannot read its own memory.
    pub fn digest(&self) -> Result<Blake3, PayloadError> {
        let (mut digest, mut piece, mut at) = (Digesting::default(), vec![0; FILE_PIECE], 0);
        while at < self.len {
            match self.read_at(&mut piece, at)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                read => {
                    digest.update(piece.get(..read).unwrap_or_default());
                    at += read;
                }
            }
        }
        Ok(digest.end())
    }

    /// Another descriptor for the same sealed memory: to keep one and hand on one.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn share(&self) -> Result<Self, PayloadError> {
        Ok(Self { fd: self.fd.try_clone()?, len: self.len })
    }
}

/// Memory that is being filled, to be sealed then. It never holds more than its limit.
#[derive(Debug)]
pub struct Filling {
    fd: OwnedFd,
    len: usize,
    most: usize,
}

impl Filling {
    /// Empty memory for at most `most` bytes.
    ///
    /// # Errors
    /// When the kernel has no memory or descriptor left.
    pub fn new(most: usize) -> Result<Self, PayloadError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know how to make a memfd that can never be executed.
        let fd = rustix::fs::memfd_create("metnos", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| rustix::fs::memfd_create("metnos", flags))
            .map_err(io::Error::from)?;
        Ok(Self { fd, len: 0, most: most.min(MAX_FILE) })
    }

    /// Adds bytes behind those that it has.
    ///
    /// # Errors
    /// When there would be more than its limit, and then none of these is added; when the kernel has no memory left.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), PayloadError> {
        let after = self.len.saturating_add(bytes.len());
        if after > self.most {
            return Err(PayloadError::TooLarge { bytes: after as u64, most: self.most });
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = rustix::io::write(&self.fd, rest).map_err(io::Error::from)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        self.len = after;
        Ok(())
    }

    /// The number of bytes so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Nothing can be added any more.
    ///
    /// # Errors
    /// When the kernel does not seal it.
    pub fn seal(self) -> Result<Sealed, PayloadError> {
        rustix::fs::fcntl_add_seals(&self.fd, SEALS).map_err(io::Error::from)?;
        Ok(Sealed { fd: self.fd, len: self.len })
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
    fn sealed_memory_is_readable_and_not_writable() {
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

    fn seals(bytes: usize) -> OwnedFd {
        let memory = rustix::fs::memfd_create("some", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&memory, bytes as u64).unwrap();
        rustix::fs::fcntl_add_seals(&memory, SEALS).unwrap();
        memory
    }

    #[test]
    fn a_payload_may_be_exactly_the_limit_and_not_a_byte_more() {
        let bytes = vec![7; MAX_PAYLOAD + 1];
        assert_eq!(Sealed::new(&bytes[..MAX_PAYLOAD]).unwrap().len(), MAX_PAYLOAD);
        assert!(matches!(Sealed::new(&bytes), Err(PayloadError::TooLarge { most: MAX_PAYLOAD, .. })));
        let file = Sealed::from_fd(seals(MAX_FILE)).unwrap();
        assert_eq!(file.len(), MAX_FILE);
        assert!(matches!(Sealed::from_fd(seals(MAX_FILE + 1)), Err(PayloadError::TooLarge { most: MAX_FILE, .. })));
    }

    #[test]
    fn a_file_is_read_in_pieces_and_never_whole() {
        let mut filling = Filling::new(MAX_FILE).unwrap();
        let piece: Vec<u8> = (0..=255).cycle().take(MAX_PAYLOAD).collect();
        filling.push(&piece).unwrap();
        filling.push(b"end").unwrap();
        assert_eq!(filling.len(), MAX_PAYLOAD + 3);
        let file = filling.seal().unwrap();
        assert!(matches!(file.read(), Err(PayloadError::TooLarge { most: MAX_PAYLOAD, .. })));
        let mut end = [0; 8];
        assert_eq!(file.read_at(&mut end, MAX_PAYLOAD).unwrap(), 3);
        assert_eq!(&end[..3], b"end");
        assert_eq!(file.digest().unwrap(), Blake3::of(&[&piece[..], b"end"].concat()));
        assert!(rustix::io::pwrite(&file, b"x", 0).is_err());
    }

    #[test]
    fn memory_that_is_filled_takes_no_byte_over_its_limit() {
        let mut filling = Filling::new(4).unwrap();
        filling.push(b"abc").unwrap();
        assert!(matches!(filling.push(b"de"), Err(PayloadError::TooLarge { bytes: 5, most: 4 })));
        filling.push(b"d").unwrap();
        assert_eq!(filling.seal().unwrap().read().unwrap(), b"abcd");
    }
}
