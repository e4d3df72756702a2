//! What the files and programs that a call names are, seen from policyd.

use std::io::Error;
use std::path::Path;
use std::rc::Rc;

use crate::perimeter::outside::Folders;
use crate::perimeter::owner_files::OwnerFiles;
use crate::setting::Setting;

pub(crate) mod folders;
pub mod outside;
pub mod owner_files;
pub(crate) mod programs;
pub(crate) mod targets;

/// What policyd sees of the disk, by the descriptors that it holds, and what the owner has listed.
#[derive(Debug)]
pub struct Perimeter {
    pub(crate) setting: Rc<Setting>,
    /// The workspace.
    pub(crate) files: OwnerFiles,
    /// The folders outside the workspace that the owner has listed.
    pub(crate) folders: Folders,
}

impl Perimeter {
    /// Opens the folder of the owner's files; call it before the lock. `folders` were opened for policyd.
    ///
    /// # Errors
    /// When the workspace is not there, or not a folder.
    pub fn open(setting: Setting, workspace: &Path, folders: Folders) -> Result<Self, Error> {
        Ok(Self { setting: Rc::new(setting), files: OwnerFiles::open(workspace)?, folders })
    }
}
