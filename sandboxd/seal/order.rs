//! Reads what sandboxd orders a process to seal itself with: bytes in, borrowed parts out. It allocates
//! nothing and opens nothing, and bytes that are no order are an error, never a weaker seal.

/// Raised with every change of the layout below.
pub const VERSION: u8 = 1;
/// The longest order, in bytes.
pub const MAX_ORDER: usize = 48 << 10;
/// The most descriptors that come with an order.
pub const MAX_MOUNTS: usize = 32;

/// A step that an order may leave out, as a bit of its second byte.
pub const LANDLOCK: u8 = 1;
/// Afterwards try what must fail. Left out only for a process that never runs an executor.
pub const CANARIES: u8 = 2;
/// Folders below the workspace are granted and not it itself: their mount points are made first.
pub const COVER: u8 = 4;
/// Keep the capabilities, to see what else stops what they are good for. It means something in a test build alone.
pub const KEEP: u8 = if cfg!(feature = "attack") { 8 } else { 0 };
/// Listed programs may be run afterwards: what must fail then is tried in the place of making a process.
pub const PROGRAMS: u8 = 16;
/// Bits that mean nothing.
const UNKNOWN: u8 = !(LANDLOCK | CANARIES | COVER | KEEP | PROGRAMS);

/// The order of the parts: version and steps, places of mounts, limits, Landlock (rights handled of files, of ports,
/// scopes, then places), the filter. Numbers are little endian, counts and lengths 16 bits wide; a path
/// ends in NUL, which its length counts.
pub struct Order<'a> {
    /// See [`LANDLOCK`], [`CANARIES`], [`COVER`].
    pub steps: u8,
    /// Where each descriptor that came along is mounted.
    pub mounts: Paths<'a>,
    /// `(resource, value)`.
    pub limits: Limits<'a>,
    /// Rights of files that are handled.
    pub handled_files: u64,
    /// Rights of ports that are handled.
    pub handled_ports: u64,
    /// Scopes.
    pub scopes: u64,
    /// `(path, rights)`.
    pub places: Places<'a>,
    /// Instructions of eight bytes each.
    pub filter: &'a [u8],
}

/// Reads from the front.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number(2)?).ok()
    }

    /// An absolute path with its NUL, and no other NUL in it.
    fn path(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let path = self.take(length)?;
        let (last, text) = path.split_last()?;
        (*last == 0 && text.first() == Some(&b'/') && !text.contains(&0)).then_some(path)
    }
}

macro_rules! list {
    ($(#[$meta:meta])* $name:ident, $item:ty, $read:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name<'a> {
            rest: Bytes<'a>,
            left: usize,
        }

        impl<'a> $name<'a> {
            /// Reads all once, so that a later reading cannot end early.
            fn read(bytes: &mut Bytes<'a>) -> Option<Self> {
                let left = bytes.count()?;
                let list = Self { rest: *bytes, left };
                for _ in 0..left {
                    ($read)(bytes)?;
                }
                Some(list)
            }
        }

        impl<'a> Iterator for $name<'a> {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.left = self.left.checked_sub(1)?;
                ($read)(&mut self.rest)
            }
        }
    };
}

list! {
    /// Paths, each with its NUL.
    Paths, &'a [u8], |bytes: &mut Bytes<'a>| bytes.path()
}
list! {
    /// Limits.
    Limits, (u32, u64), |bytes: &mut Bytes<'a>| Some((u32::try_from(bytes.number(4)?).ok()?, bytes.number(8)?))
}
list! {
    /// Places of the fence.
    Places, (&'a [u8], u64), |bytes: &mut Bytes<'a>| {
        let rights = bytes.number(8)?;
        Some((bytes.path()?, rights))
    }
}

impl<'a> Order<'a> {
    /// Reads an order; `None` for anything that is none, or has a byte too many.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes((bytes.len() <= MAX_ORDER).then_some(bytes)?);
        let [version, steps] = *bytes.take(2)? else { return None };
        if version != VERSION || steps & UNKNOWN != 0 {
            return None;
        }
        let mounts = Paths::read(&mut bytes)?;
        let limits = Limits::read(&mut bytes)?;
        let (handled_files, handled_ports, scopes) = (bytes.number(8)?, bytes.number(8)?, bytes.number(8)?);
        let places = Places::read(&mut bytes)?;
        let instructions = bytes.count()?;
        let filter = bytes.take(instructions.checked_mul(8)?)?;
        let whole = bytes.0.is_empty() && mounts.left <= MAX_MOUNTS && instructions > 0;
        whole.then_some(Self { steps, mounts, limits, handled_files, handled_ports, scopes, places, filter })
    }

    /// How many descriptors must come along.
    pub fn descriptors(&self) -> usize {
        self.mounts.left
    }

    /// Whether a step is ordered.
    pub fn has(&self, step: u8) -> bool {
        self.steps & step != 0
    }
}
