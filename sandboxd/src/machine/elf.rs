//! What a program or a library asks its loader for: the loader itself, and other libraries by name (ELF, 64 bits, of this
//! machine). Bytes in, names out: it opens nothing, and what it does not understand is an error.

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

/// The most libraries that one file may name.
const MAX_NEEDED: usize = 64;
/// The longest name or list of folders.
const MAX_NAME: usize = 4096;

/// What a file asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Its loader; `None` for a library, or for a program that is whole by itself.
    pub loader: Option<String>,
    /// The libraries it names, in their order.
    pub libraries: Vec<String>,
    /// Folders for its own libraries and those of what it loads (`DT_RPATH`); counts only without the other.
    pub rpath: Vec<String>,
    /// Folders for its own libraries alone (`DT_RUNPATH`).
    pub runpath: Vec<String>,
}

/// Why a file is none that could be run or loaded here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// It is something else.
    #[error("it is no 64-bit ELF program of this machine")]
    NotElf,
    /// Its headers contradict themselves, or a name in them is no text.
    #[error("its headers do not hold together")]
    Broken,
    /// It names more libraries than any program does.
    #[error("it names more than {MAX_NEEDED} libraries")]
    TooMany,
}

/// The machine this is.
const MACHINE: elf::Machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

impl Needs {
    /// Reads the headers of a whole file.
    ///
    /// # Errors
    /// An [`ElfError`].
    pub fn read(bytes: &[u8]) -> Result<Self, ElfError> {
        let header = FileHeader64::<Endianness>::parse(bytes).map_err(|_| ElfError::NotElf)?;
        let endian = header.endian().map_err(|_| ElfError::NotElf)?;
        let kind = header.e_type(endian);
        if header.e_machine(endian) != MACHINE || !(kind == elf::ET_EXEC || kind == elf::ET_DYN) {
            return Err(ElfError::NotElf);
        }
        let segments = header.program_headers(endian, bytes).map_err(|_| ElfError::Broken)?;
        let mut needs = Self::default();
        for segment in segments {
            if let Some(loader) = segment.interpreter(endian, bytes).map_err(|_| ElfError::Broken)? {
                needs.loader = Some(name(loader)?);
            }
            let Some(entries) = segment.dynamic(endian, bytes).map_err(|_| ElfError::Broken)? else { continue };
            // The end of the table is marked, and what stands behind that means nothing.
            let entries: Vec<_> = entries.iter().take_while(|entry| entry.d_tag(endian) != elf::DT_NULL).collect();
            let value = |tag| entries.iter().find(|entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian));
            let (Some(address), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else { continue };
            let texts = segments.iter().find_map(|one| one.data_range(endian, bytes, address, size).ok().flatten());
            let texts = texts.ok_or(ElfError::Broken)?;
            for entry in entries {
                let (tag, at) = (entry.d_tag(endian), entry.d_val(endian));
                match tag {
                    elf::DT_NEEDED => needs.libraries.push(text(texts, at)?),
                    elf::DT_RPATH => needs.rpath = folders(&text(texts, at)?),
                    elf::DT_RUNPATH => needs.runpath = folders(&text(texts, at)?),
                    _ => {}
                }
                if needs.libraries.len() > MAX_NEEDED {
                    return Err(ElfError::TooMany);
                }
            }
        }
        Ok(needs)
    }
}

/// The text that begins at `at`.
fn text(texts: &[u8], at: u64) -> Result<String, ElfError> {
    let rest = usize::try_from(at).ok().and_then(|at| texts.get(at..)).ok_or(ElfError::Broken)?;
    let end = rest.iter().take(MAX_NAME).position(|byte| *byte == 0).ok_or(ElfError::Broken)?;
    name(rest.get(..end).unwrap_or_default())
}

fn name(bytes: &[u8]) -> Result<String, ElfError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ElfError::Broken)?;
    let plain = !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control);
    plain.then(|| text.to_owned()).ok_or(ElfError::Broken)
}

fn folders(list: &str) -> Vec<String> {
    list.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn program() -> Vec<u8> {
        std::fs::read("/usr/bin/ls").unwrap()
    }

    #[test]
    fn a_program_names_its_loader_and_its_libraries() {
        let needs = Needs::read(&program()).unwrap();
        assert!(needs.loader.as_deref().is_some_and(|loader| loader.contains("/ld-linux")), "{needs:?}");
        assert!(needs.libraries.contains(&"libc.so.6".to_owned()), "{needs:?}");
    }

    #[test]
    fn foreign_or_malformed_elf_is_refused() {
        let mut other = program();
        // Another machine, another width.
        other[18] = 0x14;
        assert_eq!(Needs::read(&other), Err(ElfError::NotElf));
        let mut narrow = program();
        narrow[4] = 1;
        assert_eq!(Needs::read(&narrow), Err(ElfError::NotElf));
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF"] {
            assert_eq!(Needs::read(bytes), Err(ElfError::NotElf));
        }
        assert_eq!(Needs::read(&program()[..4096]), Err(ElfError::Broken));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_and_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), elf in any::<bool>()) {
            if elf && bytes.len() > 20 {
                bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
                bytes[16..20].copy_from_slice(&[3, 0, 0x3e, 0]);
            }
            let _ = Needs::read(&bytes);
        }

        #[test]
        fn a_damaged_program_is_read_or_refused_and_never_a_panic(at in 0..2048_usize, byte: u8, cut in 64..200_000_usize) {
            let mut bytes = program();
            bytes[at] = byte;
            bytes.truncate(cut);
            let _ = Needs::read(&bytes);
        }
    }
}
